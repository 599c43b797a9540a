"""The page of a word's uses in a browser, from a file and without a network."""

import pytest

from keras_elmo.evaluation.senses import find_senses
from keras_elmo.evaluation.senses_page import write_page
from keras_elmo.evaluation.token_layers import TokenLayers
from tests.evaluation.browser import find_chromium, open_browser
from tests.evaluation.test_senses import HOSTILE
from tests.evaluation.word_files import strong_backbone, write_corpus

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(
        find_chromium() is None,
        reason="no Chromium: python -m tests.evaluation.install_browser",
    ),
]
PLACES = """[...document.querySelectorAll("circle")]
  .sort((one, other) => one.dataset.use - other.dataset.use)
  .map((c) => [Number(c.getAttribute("cx")), Number(c.getAttribute("cy"))])"""


@pytest.fixture(scope="module")
def senses(tmp_path_factory):
    path = write_corpus(tmp_path_factory.mktemp("corpus") / "corpus.txt")
    path.write_text(path.read_text() + "\n".join(HOSTILE) + "\n", encoding="utf-8")
    layers = TokenLayers(strong_backbone())
    return find_senses("bank", [path], layers, clusters=3)


@pytest.fixture(scope="module")
def browser():
    with open_browser(find_chromium()) as page:
        yield page


@pytest.fixture
def page(browser, senses, tmp_path):
    write_page(senses, tmp_path / "senses.html")
    browser.problems.clear()
    browser.requests.clear()
    browser.open(tmp_path / "senses.html")
    yield browser
    # Whatever a test did: no error in the console, no request but for the page.
    assert browser.problems == []
    assert browser.requests == [(tmp_path / "senses.html").as_uri()]
    assert browser.run("window.hacked") is None


def center(page, use):
    """Where a use's point is in the window."""
    return page.run(
        f"""(() => {{
          const box = document.querySelector("circle[data-use='{use}']")
            .getBoundingClientRect();
          return [box.x + box.width / 2, box.y + box.height / 2];
        }})()"""
    )


def apart(points):
    """The use whose point is the farthest from all others."""
    distances = [
        min(abs(x - a) + abs(y - b) for j, (a, b) in enumerate(points) if j != i)
        for i, (x, y) in enumerate(points)
    ]
    return max(range(len(points)), key=distances.__getitem__)


def test_points_are_drawn_and_the_slider_moves_them(page, senses):
    expected = [
        [[x, -y] for x, y in layer] for layer in senses.points.round(4).tolist()
    ]
    assert page.run(PLACES) == expected[2]
    assert page.run("document.getElementById('name').value") == "layer 2"
    seen = page.run(
        """[...document.querySelectorAll("circle")].every((circle) => {
          const box = circle.getBoundingClientRect();
          const plot = document.getElementById("plot").getBoundingClientRect();
          return box.width > 2 && box.left >= plot.left && box.right <= plot.right
            && box.top >= plot.top && box.bottom <= plot.bottom;
        })"""
    )
    assert seen
    page.run("document.getElementById('layer').focus()")
    for layer, key in ((1, "ArrowLeft"), (0, "ArrowLeft"), (1, "ArrowRight")):
        page.key(key)
        assert page.run("document.getElementById('name').value") == f"layer {layer}"
        # They glide there.
        page.wait(
            f"{PLACES}.every((place, use) => place.every((number, axis) =>"
            f" Math.abs(number - {expected[layer]}[use][axis]) < 1e-9))"
        )
    assert expected[0] != expected[1] != expected[2]


def test_hovering_shows_the_sentence_as_it_is(page, senses):
    points = senses.points[2].tolist()
    for use in (apart(points), *range(len(senses.uses) - len(HOSTILE), len(points))):
        page.mouse("mouseMoved", 2, 2)
        x, y = center(page, use)
        page.mouse("mouseMoved", x, y)
        on_top = int(page.run(f"document.elementFromPoint({x}, {y}).dataset.use"))
        page.wait("!document.getElementById('tip').hidden")
        shown = page.run("document.querySelector('#tip span').textContent")
        before, word, behind = senses.uses[on_top].around(25)
        assert shown.split() == f"{before} {word} {behind}".split()
        assert page.run("document.querySelector('#tip b').textContent") == word
    page.mouse("mouseMoved", 2, 2)
    page.wait("document.getElementById('tip').hidden")
    assert page.run("document.querySelectorAll('img, script:not(#data)').length") == 1


def test_a_click_shows_the_nearest_uses_by_the_layer(page, senses):
    use = apart(senses.points[2].tolist())
    page.click(*center(page, use))
    page.wait("document.querySelectorAll('circle.chosen').length === 1")
    for layer in (2, 1):
        shown = page.run(
            "[...document.querySelectorAll('#panel ul:last-child .cosine')]"
            ".map((cell) => cell.textContent)"
        )
        assert shown == [f"{c:.3f}" for c in senses.cosines[layer, use]]
        near = page.run(
            "[...document.querySelectorAll('circle.near')].map((c) => +c.dataset.use)"
        )
        assert sorted(near) == sorted(senses.neighbors[layer, use].tolist())
        page.run("document.getElementById('layer').focus()")
        page.key("ArrowLeft")
    page.run("document.querySelector('.back').click()")
    assert page.run("document.querySelectorAll('#panel h2').length") == 3


def test_a_search_and_a_cluster_leave_the_others_faint(page, senses):
    faint = "[...document.querySelectorAll('circle.faint')].map((c) => +c.dataset.use)"
    page.run("document.getElementById('search').focus()")
    page.call("Input.insertText", text="River")
    expected = [
        i for i, use in enumerate(senses.uses) if "river" not in " ".join(use.tokens)
    ]
    assert sorted(page.run(faint)) == expected
    page.run(
        """const field = document.getElementById("search"); field.value = "";
        field.dispatchEvent(new Event("input"));
        document.querySelector("#panel h2 button").click()"""
    )
    expected = [i for i, number in enumerate(senses.clusters) if number != 0]
    assert sorted(page.run(faint)) == expected
