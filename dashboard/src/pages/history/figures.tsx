/** The figures of a period, and the jobs that stand out in it. */
import { Link } from "@tanstack/react-router";
import type { HistoryFigures, TocNode } from "@/api/history";
import { span } from "@/lib/time";
import { number } from "@/lib/words";
import { Fact, Facts, Panel } from "@/ui/panel";

const ms = (value: number | null | undefined) => (value == null ? "–" : span(value));

export function Figures({ figures }: { figures: HistoryFigures }) {
  const { endings, durations, lags, skips } = figures;
  const rows: [string, number][] = [
    ["Succeeded", endings.success],
    ["Failed", endings.failed],
    ["Timed out", endings.timed_out],
    ["Stuck", endings.stuck],
    ["Cancelled", endings.cancelled],
    ["Retries", figures.retries],
  ];
  return (
    <Panel title="Figures">
      <Facts>
        <Fact name="Attempts">
          <span className="tabular">{number.format(endings.total)}</span>
        </Fact>
        {rows
          .filter(([, count]) => count > 0)
          .map(([name, count]) => (
            <Fact key={name} name={name}>
              <span className="tabular">{number.format(count)}</span>
            </Fact>
          ))}
        {figures.skipped > 0 && (
          <Fact name="Skipped">
            <span className="tabular">{number.format(figures.skipped)}</span>
            <span className="text-faint text-xs">
              {" "}
              {Object.entries(skips)
                .map(([reason, count]) => `${reason} ${number.format(count)}`)
                .join(", ")}
            </span>
          </Fact>
        )}
        <Fact name="Took">
          <span className="tabular">{ms(durations.p50_ms)}</span>
          <span className="text-faint text-xs">
            {" "}
            95 % within {ms(durations.p95_ms)}, at most {ms(durations.max_ms)}
          </span>
        </Fact>
        <Fact name="Began late by">
          <span className="tabular">{ms(lags.p50_ms)}</span>
          <span className="text-faint text-xs">
            {" "}
            99 % within {ms(lags.p99_ms)}, at most {ms(lags.max_ms)}
          </span>
        </Fact>
      </Facts>
    </Panel>
  );
}

export function Worst({ node }: { node: TocNode }) {
  return (
    <>
      {node.most_failing.length > 0 && (
        <Panel title="Failed most">
          <ul className="divide-y text-sm">
            {node.most_failing.map((it) => (
              <li key={it.job_id} className="flex items-baseline justify-between gap-3 px-4 py-2">
                <ToJob id={it.job_id} name={it.name} />
                <span className="tabular whitespace-nowrap text-bad text-xs">
                  {number.format(it.failures)} of {number.format(it.attempts)}
                </span>
              </li>
            ))}
          </ul>
        </Panel>
      )}
      {node.slowest.length > 0 && (
        <Panel title="Took longest">
          <ul className="divide-y text-sm">
            {node.slowest.map((it) => (
              <li key={it.job_id} className="flex items-baseline justify-between gap-3 px-4 py-2">
                <ToJob id={it.job_id} name={it.name} />
                <Link
                  to="/executions/$id"
                  params={{ id: it.execution_id }}
                  className="tabular whitespace-nowrap text-accent text-xs underline underline-offset-2"
                >
                  {span(it.duration_ms)}
                </Link>
              </li>
            ))}
          </ul>
        </Panel>
      )}
    </>
  );
}

function ToJob({ id, name }: { id: string; name: string }) {
  return (
    <Link to="/jobs/$id" params={{ id }} className="truncate font-medium underline-offset-2 hover:underline">
      {name}
    </Link>
  );
}
