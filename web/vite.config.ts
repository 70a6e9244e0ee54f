import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

export default defineConfig({
  // The server writes the path in front of the assets: see src/console/pages.ts.
  base: './',
  plugins: [react()],
  // The test tools install another version of React. Only one may be bundled.
  resolve: { dedupe: ['react', 'react-dom'] },
  build: { target: 'es2022', assetsInlineLimit: 0, modulePreload: { polyfill: false } },
  server: { proxy: { '^/(graphql|api|console|healthz|oauth|webhook)(/|$|\\?)': 'http://127.0.0.1:3000' } },
})
