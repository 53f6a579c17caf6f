"""Headless Chromium for what only a browser knows of a page: its width, its colours, its search."""

import contextlib
import functools
import http.server
import shutil
import threading

import pytest

# Texts whose contrast with their background is low, one for each pair of colours. Both may be
# translucent, and are laid over what is behind them.
CONTRAST = """
const parse = text => { const v = text.match(/[\\d.]+/g).map(Number); return [...v, 1].slice(0, 4) }
const over = (top, below) => [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3]))
const light = rgb => {
  const v = rgb.map(c => c / 255).map(c => c <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4)
  return .2126 * v[0] + .7152 * v[1] + .0722 * v[2] }
const dark = matchMedia("(prefers-color-scheme: dark)").matches, known = new Map()
const ground = element => {
  if (!element) return dark ? [18, 18, 18] : [255, 255, 255]
  if (!known.has(element)) {
    const own = parse(getComputedStyle(element).backgroundColor)
    known.set(element, own[3] === 1 ? own.slice(0, 3) : over(own, ground(element.parentElement)))
  }
  return known.get(element) }
const found = {}
const walker = document.createTreeWalker(document.querySelector(arguments[0]), NodeFilter.SHOW_TEXT)
while (walker.nextNode()) {
  const words = walker.currentNode.data.trim(), element = walker.currentNode.parentElement
  if (!words || !element.checkVisibility({visibilityProperty: true})) continue
  const style = getComputedStyle(element), below = ground(element)
  let opacity = 1
  for (let e = element; e; e = e.parentElement) opacity *= getComputedStyle(e).opacity
  const text = parse(style.color)
  text[3] *= opacity
  const [a, b] = [light(over(text, below)), light(below)].sort((x, y) => y - x)
  const ratio = (a + .05) / (b + .05)
  if (ratio < arguments[1]) {
    const key = `${style.color} on ${below.map(Math.round)}`
    found[key] ??= `${key}: ${ratio.toFixed(2)}, ${words.slice(0, 30)}`
  }
}
return Object.values(found)
"""
WIDE = """
const wide = document.scrollingElement.scrollWidth
if (wide <= innerWidth) return []
const sticksOut = element => element.getBoundingClientRect().right > innerWidth
const first = [...document.body.querySelectorAll('*')].find(sticksOut)
return [`${wide} px wide on a screen of ${innerWidth} px: ${first?.outerHTML.slice(0, 80)}`]
"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Says nothing of what it serves."""

    def log_message(self, *args):
        """Nothing."""


@contextlib.contextmanager
def served(folder):
    """The address of a server of the folder's files, on this machine alone."""
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@contextlib.contextmanager
def chromium():
    """A headless browser that reaches this machine alone, or a skip."""
    binary = shutil.which("chromium") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if not (binary and driver):
        pytest.skip("no Chromium: apt-get install chromium chromium-driver")
    webdriver = pytest.importorskip("selenium.webdriver", reason="python -m pip install '.[docs]'")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for flag in (
        "--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu",
        "--disable-background-networking", "--no-first-run",
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    ):  # fmt: skip
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(executable_path=driver)
    browser = webdriver.Chrome(options=options, service=service)
    try:
        yield browser
    finally:
        browser.quit()


def screen(browser, width, scheme="light"):
    """A screen of this width, for a reader who prefers light or dark pages."""
    metrics = {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    prefers = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", prefers)


def faults(browser, address, *, within="body", contrast=4.5):
    """What is wrong with a page: errors it logs, texts too wide for a phone, or hard to read."""
    screen(browser, 390)
    browser.get_log("browser")
    browser.get(address)
    found = browser.execute_script(WIDE)
    for scheme in ("light", "dark"):
        screen(browser, 390, scheme)
        found += [f"{scheme}: {x}" for x in browser.execute_script(CONTRAST, within, contrast)]
    return found + [
        entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"
    ]
