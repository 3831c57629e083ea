/** A point in time: how far away, and exactly when. */
import { absolute, brief, here, relative, useNow } from "@/lib/time";

interface Props {
  at: string | null | undefined;
  /** The zone of the job, told beside the reader's. */
  zone?: string | undefined;
  /** Whether the exact time is in sight, too. */
  both?: boolean;
  /** Whether it is still to come: once it is over, it is about to be seen to. */
  coming?: boolean;
}

export function Moment({ at, zone, both, coming }: Props) {
  const now = useNow();
  if (!at) return <span className="text-faint">–</span>;
  const local = `${absolute(at)} ${here}`;
  const title = zone && zone !== here ? `${local}\n${absolute(at, zone)} ${zone}` : local;
  return (
    <time
      dateTime={at}
      title={title}
      className="tabular inline-flex flex-wrap items-baseline gap-x-2 whitespace-nowrap"
    >
      {coming && Date.parse(at) <= now ? "due now" : relative(Date.parse(at), now)}
      {both && <span className="font-normal text-faint text-xs">{brief(at)}</span>}
    </time>
  );
}
