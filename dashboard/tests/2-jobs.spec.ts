/** Jobs from their making to their end. */
import type { Page } from "@playwright/test";
import { expect, test } from "./house";

async function writeUrl(page: Page, name: string, url: string) {
  await page.getByLabel("Name", { exact: true }).fill(name);
  await page.getByLabel("URL").fill(url);
}

test("a recurring job is written, described while it is, made and watched running", async ({
  page,
  house,
}) => {
  await house.enter(page, "/jobs/new");
  await writeUrl(page, "every second", `${house.endpoint}/ok`);
  await page.getByLabel("Payload").fill('{"pages": 3}');
  await page.getByLabel("Expression").fill("not a cron");
  await expect(page.getByRole("alert")).toBeVisible();
  await page.getByLabel("Expression").fill("* * * * * *");
  await page.getByLabel("Time zone").fill("America/New_York");
  await expect(page.getByTestId("description")).toContainText("every second");
  await expect(page.getByRole("region", { name: "Next runs" }).getByRole("listitem")).toHaveCount(10);
  await page.getByRole("button", { name: "Create job" }).click();

  await expect(page.getByRole("heading", { name: /every second/ })).toBeVisible();
  const runs = page.getByRole("region", { name: "Executions", exact: true }).last();
  await expect(runs.getByText("Succeeded").nth(2)).toBeVisible();
  await expect(page.getByRole("region", { name: "Durations" })).toBeVisible();

  await runs.getByRole("row").nth(2).getByRole("link").first().click();
  await expect(page.getByRole("region", { name: "Body" })).toContainText('"served": true');
  await expect(page.getByRole("region", { name: "Answer" })).toContainText("200");
});

test("a one-time job without a time runs at once", async ({ page, house }) => {
  await house.enter(page, "/jobs/new");
  await writeUrl(page, "just once", `${house.endpoint}/ok`);
  await page.getByText("Once", { exact: true }).click();
  await page.getByRole("button", { name: "Create job" }).click();
  await expect(page.getByRole("heading", { name: /just once/ })).toContainText("Succeeded");
});

test("what a message job says is in the live tail", async ({ page, house }) => {
  await house.enter(page, "/events");
  await expect(page.getByText("Live", { exact: true })).toBeVisible();
  const listening = await page.context().newPage();
  await listening.goto(`${house.url}/ui/jobs/new`);
  await listening.getByLabel("Name", { exact: true }).fill("town crier");
  await listening.getByText("Say a message").click();
  await listening.getByLabel("Text").fill("{{job_name}} says hello");
  await listening.getByLabel("Structured").fill("{oops");
  await expect(listening.getByText(/This is not JSON/)).toBeVisible();
  await listening.getByLabel("Structured").fill('{"missed": "{{missed_count}}"}');
  await listening.getByText("Interval", { exact: true }).click();
  await listening.getByLabel("Every", { exact: true }).fill("1");
  await listening.getByLabel("Unit").selectOption("h");
  await listening.getByRole("button", { name: "Create job" }).click();
  await listening.getByRole("button", { name: "Run now" }).click();
  await expect(listening.getByText("Asked to run: town crier").first()).toBeVisible();
  await expect(page.getByText("town crier says hello")).toBeVisible();
});

test("what fails for good lands in dead letters and is redriven", async ({ page, house }) => {
  await house.enter(page, "/jobs/new");
  await writeUrl(page, "bound to fail", `${house.endpoint}/fail`);
  await page.getByText("Once", { exact: true }).click();
  await page.getByLabel("Retries").fill("1");
  await page.getByLabel("First retry after, in seconds").fill("1");
  await page.getByRole("button", { name: "Create job" }).click();
  await expect(page.getByRole("heading", { name: /bound to fail/ })).toContainText("Failed");
  await expect(page.getByRole("link", { name: "└ attempt 1" })).toBeVisible();

  await page.getByRole("link", { name: "Dead letters" }).click();
  const group = page.getByRole("region", { name: /503/ }).first();
  await expect(group.getByRole("link", { name: "bound to fail" })).toBeVisible();
  house.answerWith(200);
  await group.getByRole("button", { name: "Redrive these" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Redrive" }).click();
  await expect(page.getByText("Nothing failed for good")).toBeVisible();
  await page.getByRole("link", { name: "Jobs", exact: true }).click();
  const row = page.getByRole("row", { name: /bound to fail/ });
  await expect(row).toContainText("Succeeded");
});

test("a handler is asked for by its name, and one that nobody registered is refused at the field", async ({
  page,
  house,
}) => {
  await house.enter(page, "/jobs/new");
  await page.getByLabel("Name", { exact: true }).fill("by hand");
  await page.getByText("Call a handler").click();
  await page.getByRole("textbox", { name: "Handler" }).fill("nobody made this");
  await page.getByRole("button", { name: "Create job" }).click();
  await expect(page.getByRole("textbox", { name: "Handler" })).toHaveAttribute("aria-invalid", "true");
});

test("a cron expression is put together by choosing, and a time is of any zone", async ({ page, house }) => {
  await house.enter(page, "/jobs/new");
  await page.getByLabel("How often").selectOption("week");
  await page.getByRole("button", { name: "fri" }).click();
  await page.getByLabel("Time of day").fill("06:30");
  await expect(page.getByLabel("Expression")).toHaveValue("30 6 * * 1-4");
  await expect(page.getByTestId("description")).toContainText("06:30");
  await page.getByLabel("Expression").fill("5 4 * * sun");
  await expect(page.getByLabel("How often")).toHaveValue("");
  await expect(page.getByRole("img", { name: /Calendar of 10 runs/ })).toBeVisible();

  await page.getByText("Once", { exact: true }).click();
  await page.getByLabel("At", { exact: true }).fill("2096-07-01T12:00:00");
  await page.getByLabel("On the clocks of").fill("America/New_York");
  await writeUrl(page, "noon over there", `${house.endpoint}/ok`);
  await page.getByRole("button", { name: "Create job" }).click();
  await expect(page.getByRole("heading", { name: /noon over there/ })).toBeVisible();
  const token = await house.admin();
  const found = await house.ask<{ items: { schedule: { at: string } }[] }>(
    "/jobs?name=noon",
    undefined,
    token,
  );
  expect(found.items[0]?.schedule.at).toBe("2096-07-01T16:00:00Z");
});

test("a run that goes on is cancelled, and a job is duplicated and copied as a command", async ({
  page,
  house,
  context,
}) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: house.url });
  await house.enter(page, "/jobs/new");
  await writeUrl(page, "endless", `${house.endpoint}/slow`);
  await page.getByText("Once", { exact: true }).click();
  await page.getByLabel("Retries").fill("0");
  await page.getByRole("button", { name: "Create job" }).click();
  const runs = page.getByRole("region", { name: "Executions", exact: true }).last();
  await expect(runs.getByText("Running")).toBeVisible();
  await runs.getByRole("row").nth(1).getByRole("link").first().click();
  await page.getByRole("button", { name: "Cancel this run" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("Cancelled");

  await page.getByRole("link", { name: "endless" }).click();
  await page.getByRole("button", { name: "More actions" }).click();
  await page.getByRole("menuitem", { name: "Copy as command" }).click();
  const command = await page.evaluate(() => navigator.clipboard.readText());
  expect(command).toContain("chronos jobs create 'endless'");
  await page.getByRole("button", { name: "More actions" }).click();
  await page.getByRole("menuitem", { name: "Duplicate" }).click();
  await expect(page.getByLabel("Name", { exact: true })).toHaveValue("endless copy");
  await expect(page.getByLabel("URL")).toHaveValue(`${house.endpoint}/slow`);
});

test("a job that is copied as a command is made again by it, whole", async ({ page, context, house }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const token = await house.admin();
  const asked = {
    name: "it's a 'copy'",
    schedule: {
      type: "cron",
      expression: "30 4 * * 1-5",
      timezone: "Europe/Berlin",
      start_at: "2096-01-01T00:00:00Z",
      max_runs: 9,
    },
    target: {
      type: "http",
      url: `${house.endpoint}/ok?a=1&b=2`,
      method: "PUT",
      headers: { "X-Kind": "daily report" },
      timeout_seconds: 12,
      expected_statuses: [200, 204],
    },
    payload: { pages: [1, 2], title: "what's new" },
    overlap_policy: "queue",
    max_queued: 3,
    catch_up_policy: "run_all_capped",
    catch_up_max: 7,
    catch_up_window_seconds: 7200,
    misfire_grace_seconds: 45,
    jitter_seconds: 20,
    priority: 8,
    max_retry: 4,
    retry_base_seconds: 2,
    retry_max_seconds: 600,
    max_execution_time: 90,
    tags: ["copied", "daily"],
  };
  const made = await house.ask<{ id: string }>("/jobs/recurring", asked, token);
  await house.enter(page, `/jobs/${made.id}`);
  await page.getByRole("button", { name: "More actions" }).click();
  await page.getByRole("menuitem", { name: "Copy as command" }).click();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  const again = copied.replace("it'\\''s a", "it'\\''s another");
  expect(again).not.toBe(copied);
  house.shell(again, token);
  const { items } = await house.ask<{ items: Record<string, unknown>[] }>(
    "/jobs?tag=copied",
    undefined,
    token,
  );
  const other = items.find(({ id }) => id !== made.id);
  expect(other).toMatchObject({ ...asked, name: "it's another 'copy'" });

  // Nothing of it is lost in the form either.
  await page.getByRole("button", { name: "More actions" }).click();
  await page.getByRole("menuitem", { name: "Duplicate" }).click();
  await page.getByRole("button", { name: "Create job" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("copy");
  const all = await house.ask<{ items: Record<string, unknown>[] }>("/jobs?tag=copied", undefined, token);
  const third = all.items.find(({ name }) => name === `${asked.name} copy`);
  expect(third).toMatchObject({ ...asked, name: `${asked.name} copy` });
});

test("a thundering herd is seen before it happens", async ({ page, house }) => {
  const token = await house.admin();
  const lines = Array.from({ length: 500 }, (_, number) =>
    JSON.stringify({
      name: `herd ${number}`,
      schedule: { type: "cron", expression: "0 3 * * *", timezone: "UTC" },
      target: { type: "http", url: `${house.endpoint}/ok` },
      jitter_seconds: number % 2 === 0 ? 600 : 0,
      tags: ["herd"],
    }),
  );
  await page.request.post(`${house.url}/jobs/bulk`, {
    headers: { authorization: `Bearer ${token}`, "content-type": "application/x-ndjson" },
    data: lines.join("\n"),
  });
  await house.enter(page, "/");
  await expect(page.getByTestId("herd")).toContainText(/50\d slots/);
  await expect(page.getByTestId("herd")).toContainText(/25\d a second at most/);
  await page.getByRole("link", { name: "Who they are" }).click();
  await expect(page).toHaveURL(/next_run_after/);
  await expect(page.getByRole("row", { name: /herd/ }).first()).toBeVisible();
});

test("a refusal stands at its field", async ({ page, house }) => {
  await house.enter(page, "/jobs/new");
  await writeUrl(page, "out of reach", "http://192.168.7.7/");
  await page.getByRole("button", { name: "Create job" }).click();
  await expect(page.getByLabel("URL")).toHaveAttribute("aria-invalid", "true");
  await expect(page.getByLabel("URL")).toHaveAccessibleDescription(/192\.168\.7\.7|reach|accepted/i);
});

test("a job is paused with a note, resumed and edited, with what changes told before", async ({
  page,
  house,
}) => {
  const token = await house.admin();
  const job = await house.ask<{ id: string }>(
    "/jobs/recurring",
    {
      name: "daily report",
      schedule: { type: "cron", expression: "0 9 * * *", timezone: "Europe/Berlin" },
      target: {
        type: "http",
        url: `${house.endpoint}/ok`,
        headers: { "X-Team": "blue", Authorization: { secret: "Bearer 1" } },
      },
      tags: ["reports"],
    },
    token,
  );
  await house.enter(page, `/jobs/${job.id}`);
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByLabel("Note").fill("auditors are in the house");
  await page.getByRole("dialog").getByRole("button", { name: "Pause" }).click();
  await expect(page.getByText("auditors are in the house")).toBeVisible();
  await page.getByRole("button", { name: "Resume" }).click();
  await expect(page.getByText("auditors are in the house")).toBeHidden();

  await page.getByRole("link", { name: "Edit" }).click();
  await expect(page.getByRole("button", { name: "Save changes" })).toBeDisabled();
  await page.getByLabel("Expression").fill("0 9,18 * * *");
  await expect(page.getByTestId("effect")).toContainText(/adds 7 runs/);
  const change = page.getByRole("region", { name: "What this changes" });
  await expect(change.getByRole("deletion")).toHaveText("0 9 * * *");
  await expect(change.getByRole("insertion")).toHaveText("0 9,18 * * *");
  await page.getByRole("button", { name: "Remove X-Team" }).click();
  await page.getByRole("button", { name: "Save changes" }).click();
  await expect(page.getByRole("region", { name: "Definition" })).toContainText("0 9,18 * * *");
  const told = await house.ask<{ target: { headers: Record<string, unknown> } }>(
    `/jobs/${job.id}`,
    undefined,
    token,
  );
  expect(told.target.headers).toEqual({ Authorization: { secret: "********" } });
});

test("an edit does not undo somebody else's", async ({ page, house }) => {
  const token = await house.admin();
  const job = await house.ask<{ id: string }>(
    "/jobs/recurring",
    {
      name: "contested",
      schedule: { type: "interval", seconds: 3600 },
      target: { type: "message", template: { text: "a" } },
    },
    token,
  );
  await house.enter(page, `/jobs/${job.id}/edit`);
  await page.getByLabel("Text").fill("mine");
  await page.request.patch(`${house.url}/jobs/${job.id}`, {
    headers: { authorization: `Bearer ${token}` },
    data: { tags: ["theirs"] },
  });
  await page.getByRole("button", { name: "Save changes" }).click();
  await expect(page.getByRole("alert")).toContainText("Somebody else changed the job");
});

test("several jobs are acted on together, after a word about what is touched", async ({ page, house }) => {
  const token = await house.admin();
  for (const name of ["batch one", "batch two", "batch three"]) {
    const target = { type: "message", template: { text: name } };
    await house.ask(
      "/jobs/recurring",
      { name, schedule: { type: "interval", seconds: 3600 }, target },
      token,
    );
  }
  await house.enter(page, "/jobs");
  await page.getByLabel("Name begins with").fill("batch");
  await expect(page).toHaveURL(/name=batch/);
  await expect(page.getByRole("row")).toHaveCount(4);
  await page.getByLabel("Select all on this page").check();
  await page.getByRole("button", { name: "Pause", exact: true }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog).toContainText("3 jobs");
  await expect(dialog).toContainText("batch two");
  await dialog.getByRole("button", { name: "Pause" }).click();
  await expect(page.getByRole("cell", { name: "Paused" })).toHaveCount(3);

  // The address says it all, so that it can be sent to somebody.
  await page.getByRole("button", { name: /^Paused/ }).click();
  await page.reload();
  await expect(page.getByRole("row")).toHaveCount(4);
  await page.keyboard.press("/");
  await expect(page.getByLabel("Name begins with")).toBeFocused();
});

test("a long list is paged by the server", async ({ page, house }) => {
  const token = await house.admin();
  const lines = Array.from({ length: 120 }, (_, number) =>
    JSON.stringify({
      name: `page ${String(number).padStart(3, "0")}`,
      schedule: { type: "interval", seconds: 86_400 },
      target: { type: "message", template: { text: "x" } },
      tags: ["paged"],
    }),
  );
  await page.request.post(`${house.url}/jobs/bulk`, {
    headers: { authorization: `Bearer ${token}`, "content-type": "application/x-ndjson" },
    data: lines.join("\n"),
  });
  await house.enter(page, "/jobs?tag=paged");
  const names = page.getByRole("row").getByRole("link");
  const seen = new Set<string>();
  for (const [rows, isLast] of [
    [50, false],
    [50, false],
    [20, true],
  ] as const) {
    await expect(names).toHaveCount(rows);
    if (seen.size > 0) await expect(page).toHaveURL(/cursor=/);
    for (const name of await names.allTextContents()) seen.add(name);
    if (!isLast) {
      const first = (await names.first().textContent()) ?? "";
      await page.getByRole("button", { name: "Next", exact: true }).click();
      await expect(names.first()).not.toHaveText(first);
    }
  }
  expect(seen.size).toBe(120);
  await expect(page.getByRole("button", { name: "Next", exact: true })).toBeDisabled();
  await page.getByRole("button", { name: "Previous" }).click();
  await expect(names).toHaveCount(50);
  await expect(page.getByRole("row").nth(1)).toBeVisible();
});

test("jobs are put in the order of their next runs by the server", async ({ page, house }) => {
  const token = await house.admin();
  for (const [name, day] of [
    ["third", "03"],
    ["first", "01"],
    ["second", "02"],
  ]) {
    const schedule = { type: "one_shot", at: `2097-01-${day}T00:00:00Z` };
    await house.ask(
      "/jobs",
      { name, schedule, target: { type: "message", template: { text: "x" } }, tags: ["sorted"] },
      token,
    );
  }
  await house.enter(page, "/jobs?tag=sorted");
  const names = page.getByRole("row").getByRole("link");
  await expect(names).toHaveText(["third", "first", "second"]);
  await page.getByRole("button", { name: "Next run" }).click();
  await expect(page).toHaveURL(/sort=next_run/);
  await expect(names).toHaveText(["first", "second", "third"]);
});
