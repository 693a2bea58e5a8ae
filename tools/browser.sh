#!/bin/sh
# Installs Debian's chromium where there is none: the tests in tests/browser look at the report with it.
set -eu
if command -v chromium >/dev/null || command -v chromium-browser >/dev/null; then
    exit 0
fi
sudo=$([ "$(id -u)" = 0 ] || echo sudo)
$sudo apt-get update
$sudo apt-get install -y --no-install-recommends chromium fonts-dejavu-core
