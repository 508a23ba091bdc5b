// The sends of a page that is gone. An outbox that can be adopted loads this.

import { Driver } from "./driver.js";

/** @import { Tickets } from "./tickets.js" */
/** @import { ClientOptions } from "../reactor-client.d.ts" */

/**
 * Sends what is left, and ends.
 *
 * @param {string} server @param {ClientOptions} options with the outbox of that page
 * @param {Set<Driver>} drivers has the driver as long as it works
 * @param {Tickets} tickets those of the page that adopts
 */
export function adopt(server, options, drivers, tickets) {
  const endIfEmpty = () => {
    const { lanes, settlements } = driver.machine?.sender?.outbox ?? {};
    if (lanes?.size || settlements?.size) return;
    drivers.delete(driver);
    driver.close();
  };
  /** @type {Driver} */
  const driver = new Driver(server, options, (session, ...delivery) => {
    if (delivery[0] === "outcome") tickets.refuse(driver, session, delivery[1], delivery[2]);
    endIfEmpty();
  });
  drivers.add(driver);
  driver.opened.then(() => {
    tickets.reportUnseen(driver);
    endIfEmpty();
  }, () => drivers.delete(driver));
}
