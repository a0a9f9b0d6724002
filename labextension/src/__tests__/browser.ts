// Lumino derives its drag event from the browser's, which jsdom does not have; nothing here drags.
if (typeof globalThis.DragEvent === 'undefined') {
  globalThis.DragEvent = class extends MouseEvent {} as typeof DragEvent;
}
