/** The mark of Chronos: a dial whose last quarter is still to come. */
export function Mark({ large }: { large?: boolean }) {
  return (
    <span
      className={`inline-flex items-center gap-2 font-semibold tracking-tight ${large ? "text-xl" : "text-base"}`}
    >
      <svg viewBox="0 0 32 32" className={large ? "size-7" : "size-5.5"} aria-hidden="true">
        <circle
          cx="16"
          cy="16"
          r="12.5"
          fill="none"
          stroke="currentColor"
          strokeWidth="2.5"
          strokeDasharray="58.9 19.6"
          strokeLinecap="round"
        />
        <path
          d="M16 8.5V16l5.5 4"
          fill="none"
          className="stroke-accent"
          strokeWidth="3"
          strokeLinecap="round"
          strokeLinejoin="round"
        />
      </svg>
      Chronos
    </span>
  );
}
