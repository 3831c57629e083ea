/** What a job is made of. */
import { useQuery } from "@tanstack/react-query";
import type { Job } from "@/api/client";
import { quietHours } from "@/api/queries";
import { absolute, here, span } from "@/lib/time";
import { plural, written, zoneOf } from "@/lib/words";
import { Code } from "@/parts/code";
import { Moment } from "@/parts/moment";
import { Fact, Facts, Panel } from "@/ui/panel";
import { Tag } from "@/ui/status";

const OVERLAPS: Record<Job["overlap_policy"], string> = {
  skip: "a slot is skipped while a run goes on",
  concurrent: "runs may go on at once",
  queue: "a slot waits for the run before it",
  replace: "a new run stops the one before it",
};

const CATCH_UPS: Record<Job["catch_up_policy"], string> = {
  skip: "missed slots are skipped",
  run_once: "missed slots run once, together",
  run_all_capped: "missed slots run one by one",
};

export function Definition({ job }: { job: Job }) {
  const zone = zoneOf(job.schedule);
  const { start_at, end_at, max_runs } = {
    start_at: undefined,
    end_at: undefined,
    max_runs: undefined,
    ...job.schedule,
  };
  return (
    <Panel title="Definition" className="self-start">
      <Facts>
        <Fact name="Schedule">
          <code className="font-mono text-xs">{written(job.schedule)}</code>
          {zone && <span className="text-soft"> in {zone}</span>}
        </Fact>
        {job.next_execution_time && (
          <Fact name="Next run">
            <div>
              {absolute(job.next_execution_time)} {here}
            </div>
            {zone && zone !== here && (
              <div className="text-soft">
                {absolute(job.next_execution_time, zone)} {zone}
              </div>
            )}
          </Fact>
        )}
        {start_at && <Fact name="From">{absolute(start_at)}</Fact>}
        {end_at && <Fact name="Until">{absolute(end_at)}</Fact>}
        {max_runs && <Fact name="At most">{plural(max_runs, "run")}</Fact>}
        <Target job={job} />
        <Fact name="Retries">
          {job.max_retry === 0
            ? "none"
            : `${job.max_retry}, after ${span(job.retry_base_seconds * 1000)} and ever longer, up to ${span(job.retry_max_seconds * 1000)}`}
        </Fact>
        {job.max_execution_time != null && (
          <Fact name="Stopped after">{span(job.max_execution_time * 1000)}</Fact>
        )}
        <Fact name="Overlap">{OVERLAPS[job.overlap_policy]}</Fact>
        <Fact name="Catch-up">{CATCH_UPS[job.catch_up_policy]}</Fact>
        {job.jitter_seconds > 0 && <Fact name="Jitter">up to {span(job.jitter_seconds * 1000)}</Fact>}
        {job.quiet_hours_policy_id && (
          <Fact name="Quiet hours">
            <PolicyName id={job.quiet_hours_policy_id} />
          </Fact>
        )}
        {job.notify && <Fact name="Notices">{job.notify.url ?? "the server's webhook"}</Fact>}
        {job.tags.length > 0 && (
          <Fact name="Tags">
            <span className="flex flex-wrap gap-1">
              {job.tags.map((tag) => (
                <Tag key={tag}>{tag}</Tag>
              ))}
            </span>
          </Fact>
        )}
        <Fact name="Made">
          <Moment at={job.created_at} both />{" "}
          <span className="text-faint text-xs">version {job.version}</span>
        </Fact>
        <Fact name="Id">
          <code className="font-mono text-xs">{job.id}</code>
        </Fact>
      </Facts>
      {job.payload != null && (
        <div className="px-4 pb-4">
          <h3 className="mb-1.5 text-faint text-sm">Payload</h3>
          <Code label="Payload">
            {typeof job.payload === "string" ? job.payload : JSON.stringify(job.payload, null, 2)}
          </Code>
        </div>
      )}
    </Panel>
  );
}

function Target({ job }: { job: Job }) {
  const { target } = job;
  switch (target.type) {
    case "http":
      return (
        <>
          <Fact name="Calls">
            <code className="font-mono text-xs">
              {target.method ?? "POST"} {target.url}
            </code>
          </Fact>
          {Object.entries(target.headers ?? {}).length > 0 && (
            <Fact name="Headers">
              {Object.entries(target.headers ?? {}).map(([name, value]) => (
                <div key={name} className="font-mono text-xs">
                  {name}: {typeof value === "string" ? value : "********"}
                </div>
              ))}
            </Fact>
          )}
          {target.timeout_seconds != null && (
            <Fact name="Answer within">{span(target.timeout_seconds * 1000)}</Fact>
          )}
        </>
      );
    case "message":
      return (
        <Fact name="Says">
          {target.template.text && <div className="whitespace-pre-wrap">{target.template.text}</div>}
          {target.template.structured != null && (
            <code className="font-mono text-xs">{JSON.stringify(target.template.structured)}</code>
          )}
        </Fact>
      );
    case "handler":
      return <Fact name="Handler">{target.name}</Fact>;
  }
}

function PolicyName({ id }: { id: string }) {
  const { data } = useQuery(quietHours);
  return <>{data?.items.find((policy) => policy.id === id)?.name ?? id}</>;
}
