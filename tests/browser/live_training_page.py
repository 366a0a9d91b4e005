"""The training page in a browser: train, stop, read the step."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

BUSY = 120_000  # milliseconds that a training of a few steps may take on a busy machine


def opened(page: Page, server: str, link: str = "") -> Page:
    page.goto(f"{server}/training{link}")
    page.wait_for_selector(".st-key-training_train")
    settled(page)
    return page


def settled(page: Page) -> None:
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
    assert page.locator("[data-testid=stException]").count() == 0


def press_train(page: Page) -> None:
    page.get_by_role("button", name="Train it live", exact=True).click()


def card(page: Page, number: int = 0) -> Locator:
    return page.get_by_test_id("training-run").nth(number)


def press(page: Page, what: str, number: int = 0) -> None:
    card(page, number).locator(f"[data-do={what}]").click()


def stage(page: Page, stage: str, number: int = 0) -> None:
    expect(card(page, number)).to_have_attribute("data-stage", stage, timeout=BUSY)


def step(page: Page) -> int:
    """Of the picture, as its slider says."""
    return int(re.sub(r"\D", "", page.get_by_test_id("training-step").inner_text().split(" of ")[0]) or "-1")


def wait_for_step(page: Page, least: int) -> None:
    for _ in range(BUSY // 100):
        if step(page) >= least:
            return
        page.wait_for_timeout(100)
    pytest.fail(f"the picture is at step {step(page)} and not at {least}")


def wait_for_frames(page: Page) -> None:
    """Wait until the picture is drawn: the browser draws it in its next frame."""
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def held_step(page: Page) -> int:
    """The step of a paused run, after no frame has arrived for a second."""
    seen = -1
    for _ in range(BUSY // 1_000):
        if step(page) == seen:
            return seen
        seen = step(page)
        page.wait_for_timeout(1_000)
    pytest.fail(f"the picture goes on: it is at step {seen}")


def train(page: Page, least: int) -> None:
    """Until the picture shows this step of the run."""
    press_train(page)
    stage(page, "training")
    wait_for_step(page, least)
