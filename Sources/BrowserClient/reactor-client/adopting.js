// Sends the actions of a page that is gone. Only a page with an outbox does so. It loads this
// module together with the outbox.

import { Driver } from "./driver.js";

/** @import { Tickets } from "./tickets.js" */
/** @import { Outbox } from "../reactor-client.d.ts" */

/**
 * Sends what is left in the outbox, and then closes it.
 *
 * @param {Outbox} outbox of the page that is gone @param {Driver} own the driver of this page
 * @param {Set<Driver>} drivers contains the new driver while that works
 * @param {Tickets | undefined} tickets of this page
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
