"""Lessons: stops on the way through the app, with questions whose answers the open model gives.

from transformer.lessons import parse_lesson
lesson = parse_lesson(text, "paper")        # a Lesson; LessonError names line, field and what is allowed
lesson.stops[0].question
"""

from transformer.lessons.lesson import Lesson, LessonError, Link, Stop, parse_lesson, to_toml
from transformer.lessons.questions import Computed, Question

__all__ = ["Computed", "Lesson", "LessonError", "Link", "Question", "Stop", "parse_lesson", "to_toml"]
