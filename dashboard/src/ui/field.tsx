/** Fields of forms: a label, what it is for, and what is wrong with it, tied together for every reader. */
import { type ComponentProps, createContext, type ReactNode, useContext, useId } from "react";
import { classes } from "@/lib/classes";

interface Tie {
  id: string;
  told: string | undefined;
  invalid: boolean;
}

const Tied = createContext<Tie | null>(null);

interface Props {
  label: string;
  hint?: ReactNode;
  error?: string | undefined;
  children: ReactNode;
  className?: string;
}

export function Field({ label, hint, error, children, className }: Props) {
  const id = useId();
  const told = error || hint ? `${id}-told` : undefined;
  return (
    <Tied.Provider value={{ id, told, invalid: Boolean(error) }}>
      <div className={classes("min-w-0 space-y-1", className)}>
        <label htmlFor={id} className="block font-medium text-sm">
          {label}
        </label>
        {children}
        {told && (
          <p id={told} className={classes("wrap-anywhere text-xs", error ? "text-bad" : "text-faint")}>
            {error ?? hint}
          </p>
        )}
      </div>
    </Tied.Provider>
  );
}

function useTie() {
  const tie = useContext(Tied);
  return tie ? { id: tie.id, "aria-describedby": tie.told, "aria-invalid": tie.invalid || undefined } : {};
}

export function Input({ className, ...rest }: ComponentProps<"input">) {
  return <input {...useTie()} {...rest} className={classes("input", className)} />;
}

export function Area({ className, ...rest }: ComponentProps<"textarea">) {
  return (
    <textarea
      spellCheck={false}
      {...useTie()}
      {...rest}
      className={classes("input h-auto min-h-20 py-1.5 font-mono text-xs leading-5", className)}
    />
  );
}

export function Select({ className, ...rest }: ComponentProps<"select">) {
  return <select {...useTie()} {...rest} className={classes("input pr-7", className)} />;
}

interface ChoiceProps<T extends string> {
  label: string;
  value: T;
  options: { value: T; label: string }[];
  onChange: (value: T) => void;
}

/** A few alternatives, all of them in sight. */
export function Choice<T extends string>({ label, value, options, onChange }: ChoiceProps<T>) {
  const name = useId();
  return (
    <fieldset className="inline-flex flex-wrap gap-0.5 rounded-md border border-edge/50 bg-sunken p-0.5">
      <legend className="sr-only">{label}</legend>
      {options.map((option) => (
        <label
          key={option.value}
          className={classes(
            "cursor-pointer rounded px-2.5 py-1 font-medium text-xs has-focus-visible:outline-2 has-focus-visible:outline-accent",
            option.value === value ? "bg-surface text-ink shadow-sm" : "text-soft hover:text-ink",
          )}
        >
          <input
            type="radio"
            className="sr-only"
            name={name}
            checked={option.value === value}
            onChange={() => onChange(option.value)}
          />
          {option.label}
        </label>
      ))}
    </fieldset>
  );
}
