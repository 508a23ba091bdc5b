// The sends of a page that is gone. An outbox that can be adopted loads this.

import { Driver } from "./driver.js";

/** @import { ClientOptions, Progress } from "../reactor-client.d.ts" */

/**
 * Sends what is left, and ends.
 *
 * @param {string} server @param {ClientOptions} options with the outbox of that page
 * @param {Set<Driver>} orphans has the driver as long as it works
 * @param {(driver: Driver, session: string, ticket: number, outcome: import("./types.d.ts").Outcome) => void} report
 * @param {(driver: Driver) => void} reportUnseen
 */
export function adopt(server, options, orphans, report, reportUnseen) {
  const endIfEmpty = () => {
    const { lanes, settlements } = driver.machine?.outbox ?? {};
    if (lanes?.size || settlements?.size) return;
    orphans.delete(driver);
    driver.close();
  };
  /** @type {Driver} */
  const driver = new Driver(server, options, (session, ...delivery) => {
    if (delivery[0] === "outcome") report(driver, session, delivery[1], delivery[2]);
    endIfEmpty();
  });
  orphans.add(driver);
  driver.opened.then(() => {
    reportUnseen(driver);
    endIfEmpty();
  }, () => orphans.delete(driver));
}
