// `UndoneTurns`: which parts of a session are undone, by the marks of undo and redo in its record.

/** From which turn on, and before which entry. @typedef {{turn: number, after: number, open: boolean}} UndoneRange */

export class UndoneTurns {
  constructor() {
    /** @type {UndoneRange[]} */
    this.ranges = [];
    this._redoing = false;
  }

  /** @param {any} event @param {number} sequence the entry before it */
  undo(event, sequence) {
    const last = this.ranges.at(-1);
    // The mark is recorded again once the files have followed.
    if (!(last && last.open && last.turn === event.turn)) {
      this.ranges.push({ turn: event.turn, after: sequence + 1, open: !event.restored });
    } else last.open = !event.restored;
  }

  /** @param {any} event */
  redo(event) {
    if (!this._redoing) this.ranges.pop();
    this._redoing = !event.restored;
  }

  /** @param {UndoneTurns} older those of an older page */
  prepend(older) {
    this.ranges = [...older.ranges, ...this.ranges];
  }

  /** @param {{turn: number, after: number}} item */
  hides(item) {
    return this.ranges.some((gone) => item.turn >= gone.turn && item.after < gone.after);
  }
}
