// Fails where the types of the API are not those of the document.
import { readFileSync } from "node:fs";
import openapiTS, { astToString } from "openapi-typescript";

const here = new URL("../src/api/schema.d.ts", import.meta.url);
const written = astToString(
  await openapiTS(new URL("../../openapi.json", import.meta.url), { defaultNonNullable: false }),
);
const banner = /^\/\*\*[\s\S]*?\*\/\s*/;
const plain = (text) => text.replace(banner, "").trim();
if (plain(readFileSync(here, "utf8")) !== plain(written)) {
  console.error("src/api/schema.d.ts is out of date: run `make openapi`");
  process.exit(1);
}
