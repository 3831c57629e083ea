/** When what was found happened, and what sort of thing it is: each narrows the search. */
import type { Tally } from "@/api/search";
import { brief, toLocalField } from "@/lib/time";
import { number } from "@/lib/words";
import { Panel } from "@/ui/panel";

const KINDS = [
  ["execution", "Executions"],
  ["audit", "Audit"],
  ["message", "Messages"],
  ["toc", "Periods"],
] as const;

/** Parts of time that are shown. */
const SHOWN = 24;

interface Props {
  tally: Tally;
  onNarrow: (more: string) => void;
}

export function Facets({ tally, onNarrow }: Props) {
  const parts = tally.facets.slice(-SHOWN).toReversed();
  const most = Math.max(1, ...parts.map((part) => part.count));
  return (
    <div className="space-y-5">
      <Panel title="Sort of thing">
        <div className="flex flex-wrap gap-1.5 p-4">
          {KINDS.map(([kind, name]) => (
            <button
              key={kind}
              type="button"
              onClick={() => onNarrow(`kind:${kind}`)}
              className="rounded-full border px-2.5 py-0.5 text-soft text-xs hover:bg-hover"
            >
              {name}
            </button>
          ))}
        </div>
      </Panel>
      <Panel title="When" aside={`by the ${tally.grain}`}>
        <ol className="p-2 text-xs">
          {parts.map((part) => (
            <li key={part.from}>
              <button
                type="button"
                onClick={() => onNarrow(narrow(part.from, tally.grain))}
                className="grid w-full grid-cols-[6.5rem_1fr_auto] items-center gap-2 rounded px-2 py-1 text-left hover:bg-hover"
              >
                <span className="tabular whitespace-nowrap text-soft">{named(part.from, tally.grain)}</span>
                <span aria-hidden className="h-1.5 rounded-full bg-sunken">
                  <span
                    className="block h-full min-w-0.5 rounded-full bg-busy"
                    style={{ width: `${(100 * part.count) / most}%` }}
                  />
                </span>
                <span className="tabular text-faint">{number.format(part.count)}</span>
              </button>
            </li>
          ))}
        </ol>
      </Panel>
    </div>
  );
}

function named(at: string, grain: string) {
  const text = brief(at);
  return grain === "hour" ? text.slice(0, -3) : text.split(", ")[0];
}

/** What narrows a query to a part of time, on the clocks of whoever reads. */
function narrow(from: string, grain: string) {
  const [day = "", time = ""] = toLocalField(from).split("T");
  const next = new Date(`${day}T${time}`);
  if (grain === "hour") next.setHours(next.getHours() + 1);
  else if (grain === "day") next.setDate(next.getDate() + 1);
  else next.setMonth(next.getMonth() + 1);
  const end = toLocalField(next.toISOString());
  const bound = (at: string) => (grain === "hour" ? at.slice(0, 16) : at.slice(0, 10));
  return `after:${bound(toLocalField(from))} before:${bound(end)}`;
}
