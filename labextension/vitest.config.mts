import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['src/__tests__/**/*.test.ts'],
    setupFiles: ['src/__tests__/browser.ts'],
    environment: 'jsdom',
    restoreMocks: true
  }
});
