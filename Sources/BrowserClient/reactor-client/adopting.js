// The sends of a page that is gone. Who adopts it has an outbox, so it has this.

import { Driver } from "./driver.js";

/** @import { Tickets } from "./tickets.js" */
/** @import { Outbox } from "../reactor-client.d.ts" */

/**
 * Sends what is left, and ends.
 *
 * @param {Outbox} outbox that of the page @param {Driver} own that of the page that adopts
 * @param {Set<Driver>} drivers has the driver as long as it works
 * @param {Tickets | undefined} tickets those of the page that adopts
 */
export function adopt(outbox, own, drivers, tickets) {
  if (own.isClosing || !tickets) return void outbox.close();
  const endIfEmpty = () => {
    const { lanes, settlements } = driver.machine?.sender?.outbox ?? {};
    if (lanes?.size || settlements?.size) return;
    drivers.delete(driver);
    driver.close();
  };
  /** @type {Driver} */
  const driver = new Driver(own.server, { ...own.options, outbox }, (session, ...delivery) => {
    if (delivery[0] === "outcome") tickets.refuse(driver, session, delivery[1], delivery[2]);
    endIfEmpty();
  });
  drivers.add(driver);
  driver.opened.then(() => {
    tickets.reportUnseen(driver);
    endIfEmpty();
  }, () => drivers.delete(driver));
}
