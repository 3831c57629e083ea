import { chromium } from "@playwright/test";
const [,, base, theme, width, ...paths] = process.argv;
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
const api = "http://127.0.0.1:18080";
const login = await (await fetch(api + "/auth/login", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ username: "ada", password: "correct horse battery" }) })).json();
const context = await browser.newContext({ viewport: { width: Number(width), height: 860 }, colorScheme: theme, reducedMotion: "reduce", timezoneId: "Europe/Berlin", locale: "en-GB" });
await context.addInitScript((t) => localStorage.setItem("chronos.session", t), JSON.stringify(login));
const page = await context.newPage();
page.on("pageerror", (e) => console.log("ERR", String(e).slice(0, 300)));
page.on("console", (m) => m.type() === "error" && console.log("LOG", m.text().slice(0, 300)));
for (const path of paths) {
  await page.goto(base + "/ui" + path);
  await page.waitForTimeout(Number(process.env.WAIT ?? 2500));
  const name = path.replaceAll(/[^a-z0-9]+/gi, "_") || "_";
  await page.screenshot({ path: `/tmp/shots/${name}-${theme}-${width}.png`, fullPage: process.env.FULL === "1" });
  console.log(name, await page.evaluate(() => document.documentElement.scrollWidth));
}
await browser.close();
