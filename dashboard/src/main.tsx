/** The dashboard: what the REST API tells, as pages. */
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Problem } from "./api/problem";
import { Gate } from "./pages/gate";
import { router } from "./router";
import "./styles.css";
import { Toasts } from "./ui/toast";

const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 1_000,
      // Asking again does not change a refusal.
      retry: (count, error) => !(error instanceof Problem && error.status < 500) && count < 2,
    },
  },
});

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={client}>
        <Gate>
          <RouterProvider router={router} />
        </Gate>
        <Toasts />
      </QueryClientProvider>
    </StrictMode>,
  );
}
