// Small pictures of buttons, as elements.
import { html } from "./html.js";

/** @param {{on: boolean}} props */
export const Bell = ({ on }) => html`<svg viewBox="0 0 16 16" width="16" height="16" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">
  <path d="M8 1.8a4 4 0 0 1 4 4c0 4 1.6 5.2 1.6 5.2H2.4S4 9.800 4 5.800a4 4 0 0 1 4-4zM6.600 13.600a1.600 1.600 0 0 0 2.800 0" />
  ${!on && html`<path d="M2 2l12 12" />`}
</svg>`;

export const Pin = () => html`<svg class="pin" viewBox="0 0 16 16" width="13" height="13" fill="currentColor" role="img" aria-label="pinned"><path d="M10 1.500l4.500 4.500-1.200 1.200-.8-.3-2.700 2.700.2 2.600-1.100 1.100-3-3-3.500 3.500-.7-.7 3.500-3.500-3-3 1.100-1.100 2.600.2 2.700-2.700-.3-.8z" /></svg>`;
