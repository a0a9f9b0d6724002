// The colours of the charts, by the lightness of the theme. The same series colours stand in
// src/rocmtx/views/theme.py; a test compares the two.

export const SERIES_LIGHT: readonly string[] = [
  '#2b6cb0', '#0f7f7f', '#a8650c', '#8b3fa0', '#c2410c', '#4d7c0f', '#be185d', '#475569'
];
export const SERIES_DARK: readonly string[] = [
  '#63a4ee', '#3fc4c4', '#e3b04b', '#c792e8', '#fb923c', '#a3d65c', '#f472b6', '#a8b3c2'
];
const COUNT = SERIES_LIGHT.length;

export interface IColours {
  readonly text: string;
  readonly grid: string;
  readonly series: (at: number) => string;
}

/** Whether the page's theme is dark: by JupyterLab's attribute, by VS Code's class, else light. */
export function isDark(): boolean {
  const light = document.body.dataset['jpThemeLight'];
  return light === undefined ? document.body.classList.contains('vscode-dark') : light === 'false';
}

/** Reads the colours that apply to an element now. */
export function coloursOf(element: Element): IColours {
  const style = getComputedStyle(element);
  const dark = isDark();
  const read = (name: string, otherwise: string): string => style.getPropertyValue(name).trim() || otherwise;
  const series = dark ? SERIES_DARK : SERIES_LIGHT;
  return {
    text: read('--jp-ui-font-color1', dark ? '#e6e9ec' : '#1c2024'),
    grid: dark ? 'rgba(255,255,255,.14)' : 'rgba(0,0,0,.12)',
    series: at => series[at % COUNT] ?? '#7f7f7f'
  };
}

/** Calls back when the theme changes; returns what stops it. */
export function onThemeChange(changed: () => void): () => void {
  const observer = new MutationObserver(changed);
  observer.observe(document.body, {
    attributes: true,
    attributeFilter: ['data-jp-theme-name', 'data-jp-theme-light', 'class']
  });
  return () => { observer.disconnect(); };
}
