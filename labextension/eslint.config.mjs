import js from '@eslint/js';
import { defineConfig, globalIgnores } from 'eslint/config';
import tseslint from 'typescript-eslint';

export default defineConfig(
  globalIgnores(['lib/', 'node_modules/']),
  js.configs.recommended,
  {
    files: ['**/*.ts', '**/*.mts'],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: {
      parserOptions: { project: './tsconfig.test.json', tsconfigRootDir: import.meta.dirname }
    },
    rules: {
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/explicit-function-return-type': ['error', { allowExpressions: true }],
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      eqeqeq: 'error',
      'max-lines': ['error', 350],
      'no-console': 'error'
    }
  },
  {
    // JupyterLab's own convention for tokens, interfaces and the names in them.
    files: ['src/**/*.ts'],
    rules: { '@typescript-eslint/no-namespace': 'off' }
  },
  {
    files: ['webpack.config.js'],
    languageOptions: { sourceType: 'commonjs', globals: { module: 'writable' } }
  },
  {
    files: ['live/**/*.mjs'],
    languageOptions: { globals: { Buffer: 'readonly', console: 'readonly', process: 'readonly', URL: 'readonly' } }
  }
);
