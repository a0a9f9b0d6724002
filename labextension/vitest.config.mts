import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['src/__tests__/**/*.test.ts'],
    setupFiles: ['src/__tests__/browser.ts'],
    environment: 'jsdom',
    // JupyterLab's packages import without file endings, as bundlers like it and node does not.
    server: { deps: { inline: [/@jupyter/] } },
    // JupyterLab's notebook model makes its cells before their document, and yjs remarks on each.
    onConsoleLog: log => (/Add Yjs type|yjs#509|Clipboard API/.test(log) ? false : undefined),
    restoreMocks: true
  }
});
