/** What runs next, and what went wrong for good. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { api, done } from "@/api/client";
import { deadLetters } from "@/api/queries";
import { zoneOf } from "@/lib/words";
import { JobLink } from "@/parts/job-link";
import { Moment } from "@/parts/moment";
import { Panel } from "@/ui/panel";
import { Loading } from "@/ui/states";

const SHOWN = 7;
const HOUR_MS = 3_600_000;

export function ComingUp() {
  const asked = useQuery({
    queryKey: ["jobs", "coming"],
    queryFn: async () => {
      const next_run_before = new Date(Date.now() + HOUR_MS).toISOString();
      const query = { next_run_before, paused: false, sort: "next_run", limit: SHOWN };
      return (await done(api.GET("/jobs", { params: { query } }))).items;
    },
  });
  return (
    <Panel title="Coming up" aside="within the hour">
      {asked.isPending && <Loading rows={4} />}
      {asked.data?.length === 0 && <p className="p-4 text-faint text-sm">Nothing is due within the hour.</p>}
      <ul className="divide-y text-sm">
        {asked.data?.map((job) => (
          <li key={job.id} className="flex items-baseline justify-between gap-4 px-4 py-2">
            <span className="flex min-w-0 items-baseline gap-3">
              <Link
                to="/jobs/$id"
                params={{ id: job.id }}
                className="truncate font-medium underline-offset-2 hover:underline"
              >
                {job.name}
              </Link>
              <span className="hidden truncate text-faint text-xs sm:inline">{job.description}</span>
            </span>
            <Moment coming at={job.next_execution_time} zone={zoneOf(job.schedule)} />
          </li>
        ))}
      </ul>
    </Panel>
  );
}

export function Troubles() {
  const asked = useQuery(deadLetters());
  const byJob = new Map<string, { count: number; error: string; at: string }>();
  for (const letter of asked.data?.items ?? []) {
    const known = byJob.get(letter.job_id);
    if (known) known.count += 1;
    else
      byJob.set(letter.job_id, {
        count: 1,
        error: letter.error ?? letter.status,
        at: letter.finished_at ?? letter.run_at,
      });
  }
  return (
    <Panel
      title="Failed for good"
      aside={
        <Link to="/dead-letters" className="text-accent underline underline-offset-2">
          Dead letters
        </Link>
      }
    >
      {asked.isPending && <Loading rows={4} />}
      {asked.data && byJob.size === 0 && <p className="p-4 text-faint text-sm">Nothing. Good.</p>}
      <ul className="divide-y text-sm">
        {[...byJob].slice(0, SHOWN).map(([id, { count, error, at }]) => (
          <li key={id} className="px-4 py-2">
            <div className="flex items-baseline justify-between gap-3">
              <JobLink id={id} />
              <span className="tabular whitespace-nowrap text-faint text-xs">
                {count}, <Moment at={at} />
              </span>
            </div>
            <div className="truncate text-bad text-xs">{error}</div>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
