"""The files beside the pages: plotly, and what computes a model in the browser: the scripts of the engine, graphs and
weights.

A model has them if its folder does (`transformer.web.folder`): the bundled ones, and those written by `headscope
export-web`. A model that somebody uploaded or trained here is computed by the server.
"""

import os
from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Route

from pages.runtime import cache
from transformer.checkpoints.folder import ABOUT, GRAPHS, CheckpointError, read_json
from transformer.view.bundle import FOLDER
from transformer.web.folder import ENGINE, files

PATH = "/engine"
# Sent with their encoding, so that the browser compiles them while they arrive and keeps the compiled code.
PACKED = {"ort.wasm": "application/wasm", "plotly.js": "text/javascript"}
# A browser asks each time whether a file is still the same, and gets the tag of its content; most keep it themselves
# (engine/download.js).
HEADERS = {"Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff"}
# Streamlit's server packs what has no encoding: a second of a core for the weights, which become 8% smaller.
AS_IT_IS = {**HEADERS, "Content-Encoding": "identity"}


def has_graphs(name: str) -> bool:
    """Whether browsers compute this model."""
    if os.environ.get(ENGINE) == "off":
        return False
    folder = cache.checkpoints().get(name)
    return folder is not None and all((folder / file).is_file() for file in (ABOUT, *GRAPHS))


def _sent(
    request: Request, file: Path, media_type: str = "application/octet-stream", headers: dict[str, str] = HEADERS
) -> Response:
    """A file, unless the browser has this version of it."""
    response = FileResponse(file, headers=headers, media_type=media_type, stat_result=file.stat())
    if request.headers.get("if-none-match") == response.headers["etag"]:
        return Response(status_code=304, headers={**HEADERS, "ETag": response.headers["etag"]})
    return response


def _script(request: Request) -> Response:
    name = request.path_params["name"]
    if name in PACKED:
        return _sent(request, FOLDER / f"{name}.gz", PACKED[name], {**HEADERS, "Content-Encoding": "gzip"})
    if name == "engine.js":
        return _sent(request, FOLDER / "engine.js", "text/javascript")
    return Response(status_code=404)


def _model_file(request: Request) -> Response:
    model, name = request.path_params["model"], request.path_params["name"]
    if not has_graphs(model):
        return Response(status_code=404)
    folder = cache.checkpoints()[model]
    try:
        known = files(read_json(folder / ABOUT))
    except (CheckpointError, AttributeError, KeyError, TypeError):  # somebody else's file
        return Response(status_code=404)
    if name == ABOUT:
        return _sent(request, folder / ABOUT, "application/json")
    if name not in known or not (folder / name).is_file():
        return Response(status_code=404)
    return _sent(request, folder / name, headers=AS_IT_IS)


def routes() -> list[BaseRoute]:
    """Beside the pages."""
    return [Route(f"{PATH}/models/{{model}}/{{name}}", _model_file), Route(f"{PATH}/{{name}}", _script)]
