/** Sums up the metrics of several server processes, which answer over their channel to the first one. */
import { AggregatorRegistry, type Registry } from 'prom-client'

/** Lets the first process read the metrics of this one. */
export function shareMetrics(register: Registry): void {
  AggregatorRegistry.setRegistries(register)
  new AggregatorRegistry()
}

/** Returns a function for the first process, which resolves with the metrics of all others. */
export function collectMetrics(): () => Promise<string> {
  const aggregator = new AggregatorRegistry()
  return () => aggregator.clusterMetrics()
}
