// What jsdom lacks and JupyterLab's packages look at when they are imported; no test depends on any of it.
Object.assign(globalThis, {
  DragEvent: class extends MouseEvent {},
  IntersectionObserver: class extends EventTarget {},
  ResizeObserver: class extends EventTarget {},
  matchMedia: (media: string) => Object.assign(new EventTarget(), { media, matches: false, onchange: null })
});
