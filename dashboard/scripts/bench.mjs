/** Measures the dashboard in a browser against a daemon of its own, and prints figures with their goals. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "@playwright/test";

const ADMIN = { username: "ada", password: "correct horse battery" };
const JOBS = Number(process.env.CHRONOS_BENCH_JOBS ?? 1_000_000);
/** Jobs that one request makes. */
const AT_ONCE = 10_000;
/** Times that a page is opened; the median counts. */
const ROUNDS = 5;
const SLOWER = 4;
const UPDATES = 60;
const TAIL_SECONDS = 10;

function figure(name, value, unit, kind = "none", limit = 0) {
  console.log([`dashboard: ${name}`, value, unit, kind, limit].join("\t"));
}

function median(values) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
}

async function freePort() {
  const socket = createServer();
  socket.listen(0, "127.0.0.1");
  await once(socket, "listening");
  const { port } = socket.address();
  socket.close();
  await once(socket, "close");
  return port;
}

async function open() {
  const directory = mkdtempSync(join(tmpdir(), "chronos-bench-"));
  const listen = `127.0.0.1:${await freePort()}`;
  const flags = ["serve", "--listen", listen, "--data-dir", join(directory, "data")];
  const env = { PATH: process.env.PATH, HOME: directory };
  const daemon = spawn(process.env.CHRONOS_BIN, flags, { env, cwd: directory, stdio: "ignore" });
  const url = `http://${listen}`;
  for (let tries = 0; tries < 600; tries += 1) {
    if (daemon.exitCode !== null) throw new Error(`the daemon ended with ${daemon.exitCode}`);
    if ((await fetch(`${url}/readyz`).catch(() => undefined))?.ok) break;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const close = async () => {
    const ended = once(daemon, "exit");
    daemon.kill("SIGTERM");
    await ended;
    rmSync(directory, { recursive: true, force: true });
  };
  return { url, close };
}

async function ask(url, path, body, token, type = "application/json") {
  const response = await fetch(url + path, {
    method: "POST",
    headers: { "content-type": type, ...(token && { authorization: `Bearer ${token}` }) },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response;
}

/** The scripts that the first page asks for before it can show anything, packed as they are sent. */
function initialScripts() {
  const site = "dist/site";
  const page = readFileSync(join(site, "index.html"), "utf8");
  const names = [...page.matchAll(/(?:src|href)="\/ui\/([^"]+\.js)"/g)].map(([, name]) => name);
  return names.reduce((sum, name) => sum + statSync(join(site, `${name}.gz`)).size, 0);
}

async function enter(browser, url, login) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  await context.addInitScript((text) => localStorage.setItem("chronos.session", text), JSON.stringify(login));
  // Nothing is kept from the time before, so that each opening is the first.
  return { context, page: await context.newPage(), url };
}

/** When something is there to see, and when the page is. */
async function firstPaint(browser, url, login) {
  const [times, shown] = [[], []];
  for (let round = 0; round < ROUNDS; round += 1) {
    const { context, page } = await enter(browser, url, login);
    const session = await context.newCDPSession(page);
    await session.send("Emulation.setCPUThrottlingRate", { rate: SLOWER });
    await page.addInitScript(() => {
      const look = () => {
        if (!document.querySelector("h1")) return requestAnimationFrame(look);
        window.shownAt = performance.now();
      };
      look();
    });
    await page.goto(`${url}/ui/`);
    const paint = await page.waitForFunction(
      () => performance.getEntriesByName("first-contentful-paint")[0]?.startTime,
    );
    times.push(await paint.jsonValue());
    shown.push(await (await page.waitForFunction(() => window.shownAt)).jsonValue());
    await context.close();
  }
  return { paint: median(times), shown: median(shown) };
}

/** From the opening of the page until its rows are there and a press on one is answered. */
async function interactive(browser, url, login) {
  const times = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const { context, page } = await enter(browser, url, login);
    await page.addInitScript(() => {
      const look = () => {
        const box = document.querySelector("tbody tr input[type=checkbox]");
        if (!box) return requestAnimationFrame(look);
        box.click();
        const answered = () => {
          if (!document.body.textContent.includes("1 selected")) return requestAnimationFrame(answered);
          window.answeredAt = performance.now();
        };
        answered();
      };
      look();
    });
    await page.goto(`${url}/ui/jobs`, { waitUntil: "commit" });
    const at = await page.waitForFunction(() => window.answeredAt);
    times.push(await at.jsonValue());
    await context.close();
  }
  return median(times);
}

/** Sixty messages a second while somebody writes: what is shown, what is lost, and how long keys wait. */
async function tail(browser, url, login) {
  const { context, page } = await enter(browser, url, login);
  const template = { text: "update {{slot}}" };
  const made = await ask(
    url,
    "/jobs/recurring",
    {
      name: "speaker",
      schedule: { type: "interval", seconds: 86_400 },
      target: { type: "message", template },
    },
    login.token,
  );
  const { id } = await made.json();
  await page.goto(`${url}/ui/events`);
  await page.getByText("Live", { exact: true }).waitFor();
  await page.evaluate(() => {
    window.delays = [];
    const field = document.querySelector("[data-search]");
    field.addEventListener("input", (event) => {
      const heard = event.timeStamp;
      requestAnimationFrame(() => setTimeout(() => window.delays.push(performance.now() - heard)));
    });
  });
  const rows = page.getByRole("list", { name: "Events" }).getByRole("listitem");
  const before = await newest(page);
  const began = performance.now();
  let sent = 0;
  const speak = (async () => {
    const under = new Set();
    while (performance.now() - began < TAIL_SECONDS * 1000) {
      const due = Math.floor(((performance.now() - began) / 1000) * UPDATES);
      while (sent < due) {
        sent += 1;
        const asked = ask(url, `/jobs/${id}/run`, "", login.token).finally(() => under.delete(asked));
        under.add(asked);
      }
      await new Promise((resolve) => setTimeout(resolve, 4));
    }
    await Promise.all(under);
  })();
  const text = "abcdefghij".repeat(9);
  await page.locator("[data-search]").focus();
  await page.keyboard.type(text, { delay: 80 });
  await speak;
  const seconds = (performance.now() - began) / 1000;
  await page.waitForFunction((last) => {
    const first = document.querySelector('ol[aria-label="Events"] li span:last-child')?.textContent ?? "#0";
    return Number(first.slice(1)) >= last;
  }, before + sent);
  const shown = (await newest(page)) - before;
  const written = await page.locator("[data-search]").inputValue();
  const delays = (await page.evaluate(() => window.delays)).toSorted((a, b) => a - b);
  if ((await rows.count()) === 0) throw new Error("the tail shows nothing");
  await context.close();
  return {
    rate: shown / seconds,
    lost: text.length - written.length,
    delay: delays[Math.floor(delays.length * 0.99)] ?? delays.at(-1) ?? 0,
  };
}

async function newest(page) {
  const text = await page
    .locator('ol[aria-label="Events"] li')
    .first()
    .locator("span")
    .last()
    .textContent({ timeout: 500 })
    .catch(() => "#0");
  return Number(text?.slice(1) ?? 0);
}

async function fill(url, login) {
  const began = performance.now();
  for (let first = 0; first < JOBS; first += AT_ONCE) {
    const lines = Array.from({ length: Math.min(AT_ONCE, JOBS - first) }, (_, place) => {
      const number = first + place;
      const expression = `${number % 60} ${Math.floor(number / 60) % 24} * * *`;
      return JSON.stringify({
        name: `job ${String(number).padStart(7, "0")}`,
        schedule: { type: "cron", expression, timezone: "Europe/Berlin" },
        target: { type: "message", template: { text: "x" } },
        tags: [`team-${number % 50}`],
      });
    });
    const answer = await ask(url, "/jobs/bulk", lines.join("\n"), login.token, "application/x-ndjson");
    await answer.text();
    // A token is good for a quarter of an hour.
    if ((performance.now() - began) / 60_000 > 10) throw new Error("the jobs took too long to make");
  }
}

const { url, close } = await open();
const args = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
const executablePath = process.env.CHRONOS_CHROMIUM ?? "/usr/bin/chromium";
const browser = await chromium.launch({ executablePath, args });
try {
  figure("initial scripts, packed", initialScripts(), "bytes", "most", 250 * 1024);
  await ask(url, "/auth/signup", ADMIN);
  const log = async () => (await ask(url, "/auth/login", ADMIN)).json();
  const { paint, shown } = await firstPaint(browser, url, await log());
  figure(`first paint, ${SLOWER} times slower`, paint, "ms", "most", 1000);
  figure(`overview shown, ${SLOWER} times slower`, shown, "ms");
  const { rate, lost, delay } = await tail(browser, url, await log());
  // The rate is what was asked for, to a hair.
  figure("tail, shown", rate, "events/s", "least", UPDATES * 0.95);
  figure("tail, keys lost", lost, "keys", "most", 0);
  figure("tail, key to paint p99", delay, "ms", "most", 100);
  await fill(url, await log());
  figure(`${JOBS} jobs, interactive`, await interactive(browser, url, await log()), "ms", "most", 1500);
} finally {
  await browser.close();
  await close();
}
