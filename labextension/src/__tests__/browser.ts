// What jsdom lacks and JupyterLab's packages look at when they are imported; no test depends on either.
Object.assign(globalThis, {
  DragEvent: class extends MouseEvent {},
  matchMedia: (media: string) => Object.assign(new EventTarget(), { media, matches: false, onchange: null })
});
