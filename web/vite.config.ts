import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import { languagesPlugin } from '../scripts/languages/compile.ts'

export default defineConfig({
  // The server writes the path in front of the assets: see src/endpoints/console/pages.ts.
  base: './',
  plugins: [react(), languagesPlugin(import.meta.dirname)],
  // The test tools install another version of React. Only one may be bundled.
  resolve: { dedupe: ['react', 'react-dom'] },
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // Kilobytes. Viewers and languages are large and loaded on demand; a test bounds what each visit loads.
    chunkSizeWarningLimit: 1000,
    rolldownOptions: {
      output: {
        codeSplitting: {
          // Without groups, the page of a share link splits what all pages load into small files, which compress badly.
          groups: [
            { name: 'libraries', test: /node_modules\/(?:react|react-dom|react-router|scheduler|@tanstack)\// },
            {
              name: 'folder',
              test: /\/web\/src\/(?:texts\/(?:files|home)|app\/(?:frame\/side-nav|home\/(?:home|is-start|running-jobs|section-head|storage-cards|team-changes))|jobs\/jobs|ui\/(?:avatar|index-state|kind-icon|provider-status|segments|space-meter|storage-logo|subfolders|time)|files\/(?:entry-icon|kinds|tree\/[\w-]+|create\/offer|recent\/(?:operations|thumbnails)|file-table|file-row|pointer|turn-image|view-keys|sort|selection|listing|operations|actions|view|dragging|upload\/(?:choose-files|waiting-uploads)|preview\/file-types))\.tsx?$/,
            },
          ],
        },
      },
    },
  },
  server: { proxy: { '^/(graphql|api|console|healthz|oauth|webhook)(/|$|\\?)': 'http://127.0.0.1:3000' } },
})
