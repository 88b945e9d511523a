import { fileURLToPath } from 'node:url';
import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  // Relative, so that the page works behind a proxy under any path.
  base: './',
  plugins: [react(), tailwindcss()],
  build: {
    modulePreload: { polyfill: false },
    manifest: true,
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    // The editor; scripts/build-dashboard.ts has the limits.
    chunkSizeWarningLimit: 1000,
  },
  logLevel: 'error',
});
