import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Router } from 'wouter';
import { useHashLocation } from 'wouter/use-hash-location';
import { isGeodeError } from '../../src/client/client.ts';
import { shareNonce } from './nonce.ts';
import { fetchAhead, Page } from './page.tsx';
import './style.css';
import { applyTheme } from './theme.ts';

shareNonce();
applyTheme();
fetchAhead();
const queries = new QueryClient({
  defaultOptions: {
    queries: {
      // Events say what has changed; a refusal is an answer, only a host that is away is asked again.
      staleTime: 30_000,
      retry: (count, error) => count < 3 && isGeodeError(error, 'server_unreachable'),
    },
  },
});
const root = document.getElementById('root');
if (root !== null)
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <Router hook={useHashLocation}>
          <Page />
        </Router>
      </QueryClientProvider>
    </StrictMode>,
  );
