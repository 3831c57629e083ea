/** A field for JSON: told apart line by line, and put in order at a press. */
import type { ComponentProps } from "react";
import { Area } from "@/ui/field";

interface Props extends Omit<ComponentProps<"textarea">, "onChange" | "value"> {
  value: string;
  onChange: (value: string) => void;
}

export function JsonArea({ value, onChange, ...rest }: Props) {
  const json = parsed(value);
  const tidy = json === undefined ? undefined : JSON.stringify(json, null, 2);
  return (
    <div className="relative">
      <Area
        {...rest}
        value={value}
        onChange={({ target }) => onChange(target.value)}
        onKeyDown={(event) => {
          // A line begins where the one before it does, or deeper.
          if (event.key !== "Enter" || event.shiftKey) return;
          const field = event.currentTarget;
          const { selectionStart: at, selectionEnd: end } = field;
          const line = value.slice(value.lastIndexOf("\n", at - 1) + 1, at);
          const indent = /^\s*/.exec(line)?.[0] ?? "";
          const deeper = /[[{]\s*$/.test(line) ? "  " : "";
          if (!indent && !deeper) return;
          event.preventDefault();
          onChange(`${value.slice(0, at)}\n${indent}${deeper}${value.slice(end)}`);
          requestAnimationFrame(() => {
            field.selectionStart = at + 1 + indent.length + deeper.length;
            field.selectionEnd = field.selectionStart;
          });
        }}
      />
      {tidy !== undefined && tidy !== value && (
        <button
          type="button"
          onClick={() => onChange(tidy)}
          className="absolute right-2 bottom-2 rounded border bg-surface px-1.5 py-0.5 text-2xs text-soft hover:bg-hover"
        >
          Tidy up
        </button>
      )}
    </div>
  );
}

function parsed(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
