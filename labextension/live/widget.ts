// The part of anywidget's front-end interface that we use.

export interface IModel {
  get: (name: string) => unknown;
  set: (name: string, value: unknown) => void;
  save_changes: () => void;
  send: (content: unknown) => void;
  on: ((name: 'msg:custom', listener: (content: never, buffers: DataView[]) => void) => void) &
    ((name: string, listener: () => void) => void);
  off: (name: string, listener: (content: never, buffers: DataView[]) => void) => void;
}

export type IRender = (context: { model: IModel; el: HTMLElement }) => () => void;
