"""What a browser is sent, read as files: small modules, all of them named at once, no markup out of data, nobody else asked."""

import re
from pathlib import Path

import pytest

WEB = Path(__file__).parents[3] / "prism" / "web"
MODULES = sorted(path.relative_to(WEB).as_posix() for path in (WEB / "js").rglob("*.js"))
TEXTS = {path.relative_to(WEB).as_posix(): path.read_text() for path in WEB.rglob("*.*")}


@pytest.mark.parametrize("name", MODULES)
def test_a_module_is_a_room_you_can_see_across(name):
    assert len(TEXTS[name].splitlines()) < 300
    assert TEXTS[name].startswith("// ")


@pytest.mark.parametrize("name", MODULES)
def test_no_markup_is_made_of_data(name):
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", TEXTS[name])


@pytest.mark.parametrize("name", TEXTS)
def test_nobody_else_is_named(name):
    text = TEXTS[name].replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?://|url\(|@import", text)


def test_the_page_names_its_modules_at_once():
    page = TEXTS["index.html"]
    named = re.findall(r'<link rel="modulepreload" href="(js/[^"]+)">', page)
    assert sorted([*named, "js/main.js", "js/report.js"]) == MODULES
    assert not re.search(r"<style|style=|\son\w+=|<script>", page)


def test_what_is_imported_is_exported():
    for name in MODULES:
        for names, of in re.findall(r'^import \{ ([^}]+) \} from "([^"]+)";$', TEXTS[name], re.MULTILINE):
            other = (WEB / name).parent.joinpath(of).resolve().relative_to(WEB).as_posix()
            exported = re.findall(r"^export (?:async )?(?:function|const|class) (\w+)", TEXTS[other], re.MULTILINE)
            for one in names.split(", "):
                assert one.split(" as ")[0] in exported, (name, of, one)
                used = one.split(" as ")[-1]
                assert len(re.findall(rf"\b{used}\b", TEXTS[name])) > 1, (name, one)


def test_everything_together_is_small():
    assert sum(len(text) for text in TEXTS.values()) < 320_000
