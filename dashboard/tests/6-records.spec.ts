/** What is on record: the audit as it is written, why a slot became what it did, and what is pushed where. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "./house";

const message = (text: string) => ({ type: "message", template: { text } });
const daily = { type: "interval", seconds: 86_400 };

test("the audit is told as it is written, narrowed by filters, and read back page by page", async ({
  page,
  house,
}) => {
  const token = await house.admin();
  await house.enter(page, "/audit");
  await expect(page.getByText("Live", { exact: true })).toBeVisible();
  const job = await house.ask<{ id: string }>(
    "/jobs/recurring",
    { name: "on the record", schedule: daily, target: message("x") },
    token,
  );
  const events = page.getByRole("list", { name: "Audit events" });
  const made = events.getByRole("listitem").filter({ hasText: "schedule.created" }).first();
  await expect(made).toContainText("on the record");
  await expect(made).toContainText("you");

  for (let run = 0; run < 60; run += 1) await house.ask(`/jobs/${job.id}/run`, {}, token);
  await page.getByLabel("Kind").selectOption("schedule.fired");
  await expect(page).toHaveURL(/kind=schedule.fired/);
  await expect(events.getByRole("listitem").first()).toContainText("schedule.fired");
  await expect(events.getByText("schedule.created")).toHaveCount(0);

  await page.goto(`${house.url}/ui/audit?job=${job.id}&kind=schedule`);
  await expect(events.getByRole("listitem")).toHaveCount(50);
  await page.getByRole("button", { name: "Older" }).click();
  await expect(events.getByRole("listitem")).toHaveCount(61);
  await expect(page.getByRole("button", { name: "Older" })).toBeHidden();
  await expect(events.getByRole("listitem").last()).toContainText("schedule.created");
});

test("an execution says why it is, and a job why a slot was skipped or will come", async ({
  page,
  house,
}) => {
  const token = await house.admin();
  const job = await house.ask<{ id: string }>(
    "/jobs/recurring",
    {
      name: "held back",
      schedule: { type: "interval", seconds: 1 },
      target: message("x"),
    },
    token,
  );
  await house.ask(`/jobs/${job.id}/pause`, { note: "the database moves" }, token);
  await house.enter(page, `/jobs/${job.id}`);
  const skipped = page.getByRole("row").filter({ hasText: "Skipped" }).first();
  await expect(skipped).toContainText("the database moves");
  await skipped.getByRole("link").first().click();
  const why = page.getByRole("region", { name: "Why", exact: true });
  await expect(why.getByTestId("why")).toContainText(/skipped.*paused.*the database moves/i);
  await expect(why.getByRole("list", { name: "What was decided" })).toContainText("schedule.skipped");

  await page.goBack();
  await page.getByLabel("Slot to explain").fill("2096-01-01T00:00:00");
  await page.getByRole("button", { name: "Explain" }).click();
  await expect(page.getByTestId("why")).toBeVisible();
});

test("what a message job says is pushed to whoever subscribed, until it is paused", async ({
  page,
  house,
}) => {
  const heard: string[] = [];
  const listener = createServer((request, response) => {
    let body = "";
    request.on("data", (part) => {
      body += part;
    });
    request.on("end", () => {
      heard.push(body);
      response.end();
    });
  });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  const url = `http://127.0.0.1:${(listener.address() as AddressInfo).port}/events`;
  await house.enter(page, "/subscriptions");
  await page.getByRole("button", { name: "New subscription" }).first().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name", { exact: true }).fill("keen ear");
  await dialog.getByLabel("URL").fill("http://192.168.7.7/");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(dialog.getByLabel("URL")).toHaveAttribute("aria-invalid", "true");
  await dialog.getByLabel("URL").fill(url);
  await dialog.getByLabel("Of jobs with the tag").fill("loud");
  await dialog.getByRole("button", { name: "Save" }).click();
  const row = page.getByRole("row", { name: /^keen ear / });
  await expect(row).toContainText("active");
  await expect(row).toContainText("the tag loud");

  const token = await house.admin();
  const job = await house.ask<{ id: string }>(
    "/jobs/recurring",
    { name: "loud one", schedule: daily, target: message("can you hear me"), tags: ["loud"] },
    token,
  );
  await house.ask(`/jobs/${job.id}/run`, {}, token);
  await expect.poll(() => heard.join()).toContain("can you hear me");
  await expect(row.getByRole("cell", { name: "1", exact: true })).toBeVisible();

  await row.getByRole("button", { name: "Actions for keen ear" }).click();
  await page.getByRole("menuitem", { name: "Pause" }).click();
  await expect(row).toContainText("paused");
  await row.getByRole("button", { name: "Actions for keen ear" }).click();
  await page.getByRole("menuitem", { name: /Delete/ }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await expect(row).toBeHidden();
  listener.close();
});
