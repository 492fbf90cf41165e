#!/bin/sh
# Browser tests drive the system's Chromium: find it, or install it, or say what is missing.
for name in chromium chromium-browser google-chrome google-chrome-stable; do
    command -v "$name" >/dev/null 2>&1 && exit 0
done
if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
    echo "Installing Chromium for the browser tests ..."
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null && exit 0
fi
echo "The browser tests need Chromium or Chrome, and none was found." >&2
echo "Install it (Debian, Ubuntu: sudo apt-get install chromium; macOS: brew install --cask chromium)" >&2
echo "or run the other tests alone: .venv/bin/python -m pytest -m 'not browser'" >&2
exit 1
