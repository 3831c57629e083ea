/** What the past hours and days were like: how runs ended, and how long they took. */
import {
  Bar,
  CartesianGrid,
  ComposedChart,
  Line,
  LineChart,
  ResponsiveContainer,
  Tooltip,
  XAxis,
  YAxis,
} from "recharts";
import { brief, span } from "@/lib/time";
import { number } from "@/lib/words";

export interface Point {
  at: number;
  succeeded: number;
  failed: number;
  p50: number | null;
  p95: number | null;
}

const tick = { fontSize: 11, fill: "var(--faint)" };
const grid = <CartesianGrid stroke="var(--line)" vertical={false} />;

function axis(hourly: boolean) {
  return (
    <XAxis
      dataKey="at"
      tickFormatter={(at: number) => label(at, hourly)}
      tick={tick}
      minTickGap={48}
      axisLine={{ stroke: "var(--line)" }}
      tickLine={false}
    />
  );
}

function label(at: number, hourly: boolean) {
  const [day = "", time = ""] = brief(at).split(", ");
  return hourly ? time.slice(0, 5) : day;
}

interface Props {
  points: Point[];
  hourly: boolean;
}

export function Endings({ points, hourly }: Props) {
  return (
    <ResponsiveContainer width="100%" height="100%">
      <ComposedChart
        data={points}
        margin={{ top: 4, right: 12, bottom: 0, left: 0 }}
        barCategoryGap={1}
        accessibilityLayer
      >
        {grid}
        {axis(hourly)}
        <YAxis width={44} allowDecimals={false} tick={tick} axisLine={false} tickLine={false} />
        <Tooltip content={ToldEndings} cursor={{ fill: "var(--hover)" }} isAnimationActive={false} />
        <Bar dataKey="succeeded" stackId="ends" fill="var(--good)" isAnimationActive={false} />
        <Bar dataKey="failed" stackId="ends" fill="var(--bad-fill)" isAnimationActive={false} />
      </ComposedChart>
    </ResponsiveContainer>
  );
}

export function Lengths({ points, hourly }: Props) {
  return (
    <ResponsiveContainer width="100%" height="100%">
      <LineChart data={points} margin={{ top: 4, right: 12, bottom: 0, left: 0 }} accessibilityLayer>
        {grid}
        {axis(hourly)}
        <YAxis
          width={56}
          tickFormatter={(ms: number) => span(ms)}
          tick={tick}
          axisLine={false}
          tickLine={false}
        />
        <Tooltip content={ToldLengths} cursor={{ stroke: "var(--edge)" }} isAnimationActive={false} />
        <Line
          dataKey="p50"
          stroke="var(--busy)"
          strokeWidth={1.5}
          dot={{ r: 1.5 }}
          isAnimationActive={false}
        />
        <Line
          dataKey="p95"
          stroke="var(--accent)"
          strokeWidth={1.5}
          strokeDasharray="4 3"
          dot={{ r: 1.5 }}
          isAnimationActive={false}
        />
      </LineChart>
    </ResponsiveContainer>
  );
}

interface TipProps {
  payload?: readonly { payload?: Point }[];
}

function ToldEndings({ payload }: TipProps) {
  const point = payload?.[0]?.payload;
  if (!point) return null;
  return (
    <Tip at={point.at}>
      {number.format(point.succeeded)} succeeded, {number.format(point.failed)} failed
    </Tip>
  );
}

function ToldLengths({ payload }: TipProps) {
  const point = payload?.[0]?.payload;
  if (point?.p50 == null || point.p95 == null) return null;
  return (
    <Tip at={point.at}>
      half within {span(point.p50)}, 95 % within {span(point.p95)}
    </Tip>
  );
}

function Tip({ at, children }: { at: number; children: React.ReactNode }) {
  return (
    <div className="tabular rounded-md border bg-surface px-2.5 py-1.5 text-xs shadow-lg">
      <div className="text-faint">{brief(at)}</div>
      {children}
    </div>
  );
}
