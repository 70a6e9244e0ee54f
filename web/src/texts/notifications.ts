import { catalog } from './catalog.ts'

/** Notifications of the browser. */
export const texts = catalog('notifications', {
  title: 'Notifications',
  help: 'Your browser tells you what has happened, even while Stowage is closed. Notifications stop when you sign out.',
  onDevice: 'Notifications on this device',
  /** The label of a list of events. */
  events: 'Tell me when',
  eventNames: {
    JOB_ENDED: 'my job has ended',
    FILES_RECEIVED: 'files arrive through my link',
    SHARE_USED: 'somebody downloads what I share',
    MENTIONED: 'a comment mentions me',
  },
  test: 'Send a test notification',
  testSent: 'The test notification is on its way',
  devices: 'Devices',
  /** The heading of a column of times. */
  lastSent: 'Last notification',
  off: 'The operator of this server has switched notifications off.',
  unsupported: 'This browser cannot receive notifications, or the page is not open over HTTPS.',
  denied:
    'This browser is not allowed to notify you here. Allow notifications for this page in the settings of the browser, and reload the page.',
  installFirst:
    'On iPhone and iPad, add the page to the Home Screen first: “Share”, then “Add to Home Screen”. Then open it from there.',
  failed: 'The browser does not reach its push service. Try again later.',
})
