/** Asks before jobs are acted on, and tells what became of it. */
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { Job } from "@/api/client";
import { inWords } from "@/api/problem";
import type { Act } from "@/api/verbs";
import { plural } from "@/lib/words";
import { Confirm } from "@/ui/dialog";
import { say } from "@/ui/toast";

/** Jobs that are acted on at once. */
const AT_ONCE = 8;
/** Names that are told before the rest is only counted. */
const NAMED = 6;

interface Asked {
  act: Act;
  jobs: Job[];
}

export function useActs(after?: (act: Act) => void) {
  const client = useQueryClient();
  const [asked, setAsked] = useState<Asked>();
  const go = async ({ act, jobs }: Asked) => {
    const problems = await all(jobs, act);
    await client.invalidateQueries();
    const fine = jobs.length - problems.length;
    if (fine > 0)
      say(jobs.length === 1 ? `${act.done}: ${jobs[0]?.name}` : `${act.done}: ${plural(fine, "job")}`);
    if (problems.length > 0) throw problems[0];
    after?.(act);
  };
  const act = (act: Act, jobs: Job[]) => setAsked({ act, jobs: jobs.filter(act.isFor) });
  /** For what nobody regrets. */
  const actAtOnce = (act: Act, job: Job) => {
    go({ act, jobs: [job] }).catch((error) => say(inWords(error), true));
  };
  const dialog = (
    <Confirm
      open={Boolean(asked)}
      onClose={() => setAsked(undefined)}
      title={
        asked
          ? `${asked.act.name}: ${asked.jobs.length === 1 ? asked.jobs[0]?.name : plural(asked.jobs.length, "job")}`
          : ""
      }
      act={asked?.act.name ?? ""}
      danger={asked?.act.danger ?? false}
      onAct={async () => asked && go(asked)}
    >
      {asked && (
        <>
          <p>
            {asked.jobs.length === 1 ? "The job" : "Each of them"} {asked.act.consequence}.
          </p>
          {asked.jobs.length > 1 && (
            <ul className="list-inside list-disc">
              {asked.jobs.slice(0, NAMED).map((job) => (
                <li key={job.id} className="truncate">
                  {job.name}
                </li>
              ))}
              {asked.jobs.length > NAMED && <li>and {asked.jobs.length - NAMED} more</li>}
            </ul>
          )}
        </>
      )}
    </Confirm>
  );
  return { act, actAtOnce, dialog };
}

async function all(jobs: Job[], act: Act): Promise<unknown[]> {
  const problems: unknown[] = [];
  const left = [...jobs];
  const one = async () => {
    for (let job = left.shift(); job; job = left.shift()) {
      await act.go(job).catch((error) => problems.push(error));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
  return problems;
}
