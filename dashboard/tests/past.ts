/** A past for a daemon: it ran before, at other times of day, and what happened then is history. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** How long ago it ran, in seconds: in another month, yesterday, and today. */
const DAY = 86_400;
const AGO = [-40 * DAY, -25 * 3600, -6 * 3600, -4 * 3600, -3 * 3600, -2 * 3600];
/** Runs of each job, each time. */
const RUNS = 12;

interface Place {
  binary: string;
  flags: string[];
  directory: string;
  url: string;
  endpoint: string;
}

/** Shows a process another time of day, as the tests of clusters do. */
function faketime(): string {
  const places = readdirSync("/usr/lib").map((it) => join("/usr/lib", it, "faketime/libfaketime.so.1"));
  const found = places.find((it) => existsSync(it));
  if (!found) throw new Error("there is no libfaketime; `make test-dashboard` installs it");
  return found;
}

export async function live(place: Place) {
  const library = faketime();
  for (const [number, seconds] of AGO.entries()) {
    const daemon = spawn(place.binary, place.flags, {
      cwd: place.directory,
      env: {
        PATH: process.env.PATH,
        HOME: place.directory,
        LD_PRELOAD: library,
        FAKETIME: `${seconds}s`,
        FAKETIME_DONT_FAKE_MONOTONIC: "1",
      },
      stdio: "ignore",
    });
    await until(async () => (await fetch(`${place.url}/readyz`).catch(() => undefined))?.ok);
    if (number === 0) await makeJobs(place);
    await runJobs(place.url);
    const ended = once(daemon, "exit");
    daemon.kill("SIGTERM");
    await ended;
  }
}

const NAMES = ["Nightly import", "Invoice sync"];

async function makeJobs({ url, endpoint }: Place) {
  for (const [number, name] of NAMES.entries()) {
    await ask(url, "/jobs/recurring", {
      name,
      schedule: { type: "cron", expression: "0 0 1 1 *", timezone: "UTC" },
      target: { type: "http", url: endpoint + (number === 0 ? "/import" : "/fail") },
      max_retry: 0,
      overlap_policy: "concurrent",
      catch_up_policy: "skip",
      tags: ["before"],
    });
  }
}

async function runJobs(url: string) {
  const { items } = await ask<{ items: { id: string }[] }>(url, "/jobs?tag=before");
  const made: string[] = [];
  for (const { id } of items) {
    for (let run = 0; run < RUNS; run += 1) {
      made.push((await ask<{ id: string }>(url, `/jobs/${id}/run`, {})).id);
    }
  }
  for (const id of made) {
    await until(async () => {
      const { status } = await ask<{ status: string }>(url, `/executions/${id}`);
      return status !== "QUEUED" && status !== "RUNNING";
    });
  }
}

async function ask<T>(url: string, path: string, body?: unknown): Promise<T> {
  const response = await fetch(url + path, {
    method: body === undefined ? "GET" : "POST",
    headers: body === undefined ? {} : { "content-type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}

async function until(holds: () => Promise<boolean | undefined>) {
  for (let tries = 0; tries < 600; tries += 1) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error("the past did not come to an end");
}
