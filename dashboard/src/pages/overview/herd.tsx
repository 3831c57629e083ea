/** The herd: how many runs begin in each second of the coming day, before they do. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { HerdFigures } from "@/api/client";
import { inWords } from "@/api/problem";
import { herd as query } from "@/api/queries";
import { absolute, brief } from "@/lib/time";
import { number, plural } from "@/lib/words";
import { Panel } from "@/ui/panel";
import { Loading, Refusal } from "@/ui/states";

/** Strips are this wide, each part a few minutes. */
const PARTS = 288;
const HEIGHT = 22;

interface Part {
  from: number;
  to: number;
  /** The most slots in one second. */
  nominal: number;
  /** The most runs in one second. */
  spread: number;
}

export function Herd() {
  const asked = useQuery(query);
  return (
    <Panel
      title="The herd"
      aside={asked.data && !asked.data.complete ? <Counting figures={asked.data} /> : "the coming 24 hours"}
      className="xl:col-span-3"
    >
      {asked.isPending && <Loading rows={2} />}
      {asked.isError && !asked.data && (
        <div className="p-4">
          <Refusal>{inWords(asked.error)}</Refusal>
        </div>
      )}
      {asked.data && <Strips figures={asked.data} />}
    </Panel>
  );
}

function Counting({ figures }: { figures: HerdFigures }) {
  return <>{plural(figures.jobs, "job")} looked at so far</>;
}

function Strips({ figures }: { figures: HerdFigures }) {
  const [seen, setSeen] = useState<Part>();
  const parts = partsOf(figures);
  const most = Math.max(1, ...parts.map((part) => Math.max(part.nominal, part.spread)));
  const busiest = figures.busiest;
  const after = Math.max(0, ...parts.map((part) => part.spread));
  return (
    <div className="space-y-3 p-4">
      <p className="text-sm" data-testid="herd">
        {busiest ? (
          <>
            The busiest second is <span className="tabular font-medium">{absolute(busiest.at)}</span> with{" "}
            <span className="font-medium">{plural(busiest.slots, "slot")}</span>
            {rounded(after) < busiest.slots
              ? `; quiet hours and jitter leave ${rate(after)} a second at most.`
              : "; nothing spreads them."}{" "}
            <Link
              to="/jobs"
              search={{ next_run_after: busiest.at, next_run_before: second(busiest.at) }}
              className="text-accent underline underline-offset-2"
            >
              Who they are
            </Link>
          </>
        ) : (
          <span className="text-faint">No slot is within the coming day.</span>
        )}
      </p>
      {busiest && (
        <div>
          <Strip name="Nominal" parts={parts} most={most} of={(part) => part.nominal} onSee={setSeen} />
          <Strip name="With jitter" parts={parts} most={most} of={(part) => part.spread} onSee={setSeen} />
          <Hours from={Date.parse(figures.from)} />
          <p className="tabular mt-2 min-h-4 text-faint text-xs" aria-live="polite">
            {seen
              ? `${brief(seen.from)} to ${brief(seen.to)}: up to ${number.format(seen.nominal)} slots a second, ${rate(seen.spread)} runs with jitter`
              : `The darker, the more begin in one second; ${number.format(most)} at most.`}
          </p>
        </div>
      )}
    </div>
  );
}

interface StripProps {
  name: string;
  parts: Part[];
  most: number;
  of: (part: Part) => number;
  onSee: (part: Part | undefined) => void;
}

function Strip({ name, parts, most, of, onSee }: StripProps) {
  const peak = Math.max(0, ...parts.map(of));
  return (
    <div className="mb-1 grid grid-cols-[4.5rem_1fr] items-center gap-2 sm:grid-cols-[5.5rem_1fr]">
      <span className="text-soft text-xs">{name}</span>
      <svg
        viewBox={`0 0 ${PARTS} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${name}: up to ${rate(peak)} a second`}
        className="h-6 w-full rounded bg-sunken"
        onPointerMove={(event) => {
          const box = event.currentTarget.getBoundingClientRect();
          onSee(parts[Math.floor(((event.clientX - box.left) / box.width) * PARTS)]);
        }}
        onPointerLeave={() => onSee(undefined)}
      >
        {parts.map((part, place) => {
          const value = of(part);
          if (value <= 0) return null;
          return (
            <rect
              key={part.from}
              x={place}
              y={0}
              width={1.02}
              height={HEIGHT}
              className="fill-accent"
              opacity={density(value, most)}
            />
          );
        })}
      </svg>
    </div>
  );
}

function Hours({ from }: { from: number }) {
  const hours = Array.from({ length: 5 }, (_, quarter) => from + quarter * 6 * 3_600_000);
  return (
    <div className="grid grid-cols-[4.5rem_1fr] gap-2 sm:grid-cols-[5.5rem_1fr]">
      <span />
      <div className="tabular flex justify-between text-2xs text-faint">
        {hours.map((at) => (
          <span key={at}>{brief(at).split(", ")[1]?.slice(0, 5)}</span>
        ))}
      </div>
    </div>
  );
}

/** Few beside many are still seen. */
function density(value: number, most: number): number {
  return 0.08 + 0.92 * Math.sqrt(Math.min(1, value / most));
}

function partsOf({ from, bin_seconds, nominal_peak, spread_peak }: HerdFigures): Part[] {
  const begin = Date.parse(from);
  const bins = Math.max(1, Math.ceil(nominal_peak.length / PARTS));
  return Array.from({ length: Math.ceil(nominal_peak.length / bins) }, (_, part) => {
    const [first, last] = [part * bins, (part + 1) * bins];
    return {
      from: begin + first * bin_seconds * 1000,
      to: begin + last * bin_seconds * 1000,
      nominal: Math.max(...nominal_peak.slice(first, last)),
      spread: Math.max(...spread_peak.slice(first, last)),
    };
  });
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}

function rate(value: number): string {
  return number.format(value < 10 ? rounded(value) : Math.round(value));
}

function second(at: string): string {
  return new Date(Date.parse(at) + 1000).toISOString();
}
