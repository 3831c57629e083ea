/** Where whoever comes in begins: with the whole, or with their own. */
import { Navigate } from "@tanstack/react-router";
import { useMay } from "@/parts/may";
import { Overview } from "./overview";

export function Home() {
  const may = useMay();
  return may.oversee ? <Overview /> : <Navigate to="/jobs" replace />;
}
