import { describe, expect, it } from '@jest/globals';
import { readDashboard } from '../support/dashboard.ts';

const DASHBOARD = readDashboard();
const PANELS = DASHBOARD.panels.filter(({ type }) => type !== 'row');

describe('deploy/grafana-dashboard.json', () => {
  it('asks for the data source when it is imported, and names none of its own', () => {
    const [datasource, ...queried] = DASHBOARD.templating.list;
    expect(datasource).toMatchObject({ name: 'datasource', type: 'datasource', query: 'prometheus' });
    expect(queried.map(({ name }) => name)).toEqual(['job', 'instance']);
    for (const panel of PANELS)
      expect(panel.datasource).toEqual({ type: 'prometheus', uid: '$'.concat('{datasource}') });
  });

  it('explains every panel, and selects the job and the replicas in every query', () => {
    for (const { title, description, targets } of PANELS) {
      expect({ title, description }).toEqual({ title, description: expect.stringMatching(/\.$/) });
      for (const { expr } of targets ?? []) {
        const metrics = expr.match(/auth_\w+/g)?.length;
        expect({ expr, selected: expr.split('job="$job",instance=~"$instance"').length - 1 }).toEqual({
          expr,
          selected: metrics,
        });
      }
    }
  });

  it('has panels with ids of their own that do not overlap, on the 24 columns of Grafana', () => {
    expect(new Set(DASHBOARD.panels.map(({ id }) => id)).size).toBe(DASHBOARD.panels.length);
    const cells = DASHBOARD.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)} ${y + Math.floor(cell / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    for (const { gridPos } of DASHBOARD.panels) expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
  });
});
