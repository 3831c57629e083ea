/** Every page for every reader: no serious barrier, no sideways scrolling on a phone, and a picture of it. */
import { expect, type House, test } from "./house";
import { isFitForEveryone, SHOTS, THEMES } from "./looks";

interface Seen {
  job: string;
  execution: string;
  /** A day of the history. */
  node: string;
}

let seen: Seen;

test.beforeAll(async ({ house }) => {
  seen = await furnish(house);
});

const PAGES: [string, (seen: Seen) => string, string][] = [
  ["overview", () => "/", "Overview"],
  ["jobs", () => "/jobs", "Jobs"],
  ["job", ({ job }) => `/jobs/${job}`, "Charge subscriptions"],
  ["new-job", () => "/jobs/new", "New job"],
  ["edit-job", ({ job }) => `/jobs/${job}/edit`, "Edit Charge subscriptions"],
  ["execution", ({ execution }) => `/executions/${execution}`, "Failed"],
  ["dead-letters", () => "/dead-letters", "Dead letters"],
  ["events", () => "/events", "Events"],
  ["audit", () => "/audit", "Audit"],
  ["history", ({ node }) => `/history?node=${node}`, "History"],
  ["history-years", () => "/history", "History"],
  ["search", () => "/history?q=status:failed", "History"],
  ["subscriptions", () => "/subscriptions", "Subscriptions"],
  ["quiet-hours", () => "/quiet-hours", "Quiet hours"],
  ["workers", () => "/workers", "Workers"],
  ["people", () => "/people", "Users and keys"],
];

for (const theme of THEMES) {
  for (const [name, path, heading] of PAGES) {
    test(`${name} is fit for everyone in the ${theme}`, async ({ page, house }) => {
      await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
      await house.enter(page, path(seen));
      await expect(page.getByRole("heading", { level: 1 })).toContainText(heading);
      await expect(page.getByRole("status", { name: "Loading" })).toHaveCount(0);
      // Charts grow with each answer.
      if (name === "overview") await page.waitForTimeout(7_000);
      await isFitForEveryone(page, `${name}-${theme}`);
    });
  }
}

for (const [name, path, heading] of PAGES) {
  test(`${name} fits a phone`, async ({ page, house }) => {
    await page.setViewportSize({ width: 360, height: 740 });
    await house.enter(page, path(seen));
    await expect(page.getByRole("heading", { level: 1 })).toContainText(heading);
    await expect(page.getByRole("status", { name: "Loading" })).toHaveCount(0);
    await page.screenshot({ path: `${SHOTS}/${name}-phone.png` });
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    expect(width).toBeLessThanOrEqual(360);
  });
}

async function aDay(house: House, token: string): Promise<string> {
  await house.recall();
  const days = await house.ask<{ items: { id: string }[] }>("/history/toc?level=day", undefined, token);
  return encodeURIComponent(days.items[0]?.id ?? "");
}

/** Fills the house with jobs of every kind. */
async function furnish(house: House): Promise<Seen> {
  const token = await house.admin();
  const make = (body: object) => house.ask<{ id: string }>("/jobs/recurring", body, token);
  const call = (path: string) => ({ type: "http", url: house.endpoint + path });
  house.answerWith(503);
  await make({
    name: "Weekday revenue report",
    schedule: { type: "cron", expression: "0 9 * * 1-5", timezone: "Europe/Berlin" },
    target: { ...call("/reports"), method: "PUT" },
    tags: ["reports", "finance"],
  });
  await make({
    name: "Sync inventory",
    schedule: { type: "interval", seconds: 1 },
    target: call("/sync"),
    tags: ["sync"],
  });
  await make({ name: "Long export", schedule: { type: "interval", seconds: 5 }, target: call("/slow") });
  await make({
    name: "Stand-up reminder",
    schedule: { type: "cron", expression: "*/5 * * * * *", timezone: "America/New_York" },
    target: {
      type: "message",
      template: { text: "{{job_name}} is due: {{slot}}", structured: { missed: "{{missed_count}}" } },
    },
    tags: ["team"],
  });
  const { id: job } = await make({
    name: "Charge subscriptions",
    schedule: { type: "interval", seconds: 2 },
    target: call("/fail"),
    max_retry: 1,
    retry_base_seconds: 1,
    tags: ["billing"],
  });
  const paused = await make({
    name: "Month-end close",
    schedule: { type: "cron", expression: "0 0 L * *", timezone: "UTC" },
    target: call("/close"),
    tags: ["finance"],
  });
  await house.ask(`/jobs/${paused.id}/pause`, { note: "auditors are in the house" }, token);
  const nightly = Array.from({ length: 300 }, (_, number) =>
    JSON.stringify({
      name: `Nightly export ${String(number).padStart(3, "0")}`,
      schedule: {
        type: "cron",
        expression: number % 3 === 0 ? "0 3 * * *" : `${(number * 7) % 60} ${1 + (number % 5)} * * *`,
        timezone: "UTC",
      },
      target: call("/export"),
      jitter_seconds: number % 2 === 0 ? 0 : 900,
      tags: ["nightly"],
    }),
  );
  await fetch(`${house.url}/jobs/bulk`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/x-ndjson" },
    body: nightly.join("\n"),
  }).then((answer) => answer.text());
  await house.ask(
    "/subscriptions",
    { name: "Billing events", url: `${house.endpoint}/ear`, filter: { tag: "team" } },
    token,
  );
  await house.ask(`/jobs/${job}/backfills`, { from: "2026-01-01T00:00:00Z", cap: 40 }, token).catch(() => 0);
  await house.ask(
    "/quiet-hours",
    { name: "Nights", timezone: "Europe/Berlin", windows: [{ start: "22:00", end: "07:00" }], mode: "defer" },
    token,
  );
  for (;;) {
    const path = `/jobs/${job}/executions?limit=10`;
    const { items } = await house.ask<{ items: { id: string; status: string; attempt: number }[] }>(
      path,
      undefined,
      token,
    );
    const failed = items.find((it) => it.status === "FAILED" && it.attempt === 2);
    if (failed) return { job, execution: failed.id, node: await aDay(house, token) };
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
