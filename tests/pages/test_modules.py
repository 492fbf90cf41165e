"""The scripts of components are served as modules that browsers keep until one of them changes."""

import re

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient
from streamlit import config

from pages._common.modules import ADDRESS, FOLDER, modules, preload


@pytest.mark.parametrize("base", ["", "/lens"])
def test_modules_are_served_below_the_base_path_and_kept_by_browsers(base):
    before = config.get_option("server.baseUrlPath")
    config.set_option("server.baseUrlPath", base)
    try:
        client = TestClient(Starlette(routes=[modules()]))
    finally:
        config.set_option("server.baseUrlPath", before)
    script = client.get(f"{base}/{ADDRESS}/base.js")
    assert script.text == (FOLDER / "base.js").read_text("utf-8")
    assert script.headers["content-type"].startswith(("text/javascript", "application/javascript"))
    assert "immutable" in script.headers["cache-control"]
    other = client.get(f"{base}/components/of-another-version/base.js")
    assert (other.text, other.headers["cache-control"]) == (script.text, "no-store")
    assert client.get(f"{base}/{ADDRESS}/../modules.py").status_code == 404


def test_a_page_names_the_modules_of_its_components_and_what_they_import():
    named = set(re.findall(r"<(.*?)>; rel=modulepreload", preload("map")))
    assert {
        f"{ADDRESS}/{name}.js" for name in ("map", "map_gl", "base", "vendor/lit-html")
    } <= named
    assert f"{ADDRESS}/results_parts.js" in preload("")
    assert f"<{ADDRESS}/base.js>" in preload("library")
