use std::collections::{BTreeSet, HashMap};

use super::{SylkMistake, form::SylkDag};

/// Checks the ids and the dependencies, and `execution_order` against them.
pub(super) fn check_order(dag: &SylkDag) -> Result<(), SylkMistake> {
    if dag.nodes.is_empty() {
        return Err(SylkMistake::new("nodes", "there is no node", "write at least one node"));
    }
    let places = places(dag)?;
    known_dependencies(dag, &places)?;
    let derived = layers(dag, &places)?;
    dag.execution_order.as_ref().map_or(Ok(()), |layers| compare(dag, layers, &derived))
}

/// The places of the nodes, by their ids.
fn places(dag: &SylkDag) -> Result<HashMap<&str, usize>, SylkMistake> {
    let mut places = HashMap::new();
    for (at, node) in dag.nodes.iter().enumerate() {
        if let Some(first) = places.insert(node.id.as_str(), at) {
            let message = format!("nodes[{first}] has the id `{}`, too", node.id);
            return Err(SylkMistake::new(
                format!("nodes[{at}].id"),
                message,
                "give each node an id of its own",
            ));
        }
    }
    Ok(places)
}

fn known_dependencies(dag: &SylkDag, places: &HashMap<&str, usize>) -> Result<(), SylkMistake> {
    for (at, node) in dag.nodes.iter().enumerate() {
        let mut ids = BTreeSet::new();
        for (nth, id) in node.depends_on.iter().enumerate() {
            let place = format!("nodes[{at}].depends_on[{nth}]");
            if !places.contains_key(id.as_str()) {
                let message = format!("no node has the id `{id}`");
                return Err(SylkMistake::new(place, message, "add the node, or remove the dependency"));
            }
            if !ids.insert(id) {
                return Err(SylkMistake::new(place, format!("`{id}` is there twice"), "remove one of them"));
            }
        }
        for (nth, id) in node.context.upstream_outputs.iter().enumerate() {
            let place = format!("nodes[{at}].context.upstream_outputs[{nth}]");
            if !ids.contains(id) {
                let message = format!("`{id}` is not in `depends_on` of `{}`", node.id);
                return Err(SylkMistake::new(
                    place,
                    message,
                    "a node reads the results of its dependencies alone",
                ));
            }
            if node.context.upstream_outputs[..nth].contains(id) {
                return Err(SylkMistake::new(place, format!("`{id}` is there twice"), "remove one of them"));
            }
        }
    }
    Ok(())
}

/// The layer of each node: one more than the highest of its dependencies.
fn layers(dag: &SylkDag, places: &HashMap<&str, usize>) -> Result<Vec<usize>, SylkMistake> {
    let mut waits: Vec<usize> = dag.nodes.iter().map(|node| node.depends_on.len()).collect();
    let mut dependents = vec![Vec::new(); dag.nodes.len()];
    for (at, node) in dag.nodes.iter().enumerate() {
        for id in &node.depends_on {
            dependents[places[id.as_str()]].push(at);
        }
    }
    let mut layers = vec![0; waits.len()];
    let mut ready: Vec<usize> = (0..waits.len()).filter(|at| waits[*at] == 0).collect();
    while let Some(at) = ready.pop() {
        for &next in &dependents[at] {
            layers[next] = layers[next].max(layers[at] + 1);
            waits[next] -= 1;
            if waits[next] == 0 {
                ready.push(next);
            }
        }
    }
    match waits.iter().position(|left| *left > 0) {
        Some(stuck) => Err(cycle(dag, places, &waits, stuck)),
        None => Ok(layers),
    }
}

/// Names the nodes of a cycle: a walk along waiting dependencies comes to a node twice.
fn cycle(dag: &SylkDag, places: &HashMap<&str, usize>, waits: &[usize], stuck: usize) -> SylkMistake {
    let mut path = vec![stuck];
    loop {
        let node = &dag.nodes[path[path.len() - 1]];
        let waiting = node.depends_on.iter().map(|id| places[id.as_str()]).find(|at| waits[*at] > 0);
        let next = waiting.unwrap_or(stuck);
        if let Some(begin) = path.iter().position(|at| *at == next) {
            let circle = path[begin..].iter().chain([&next]);
            let ids: Vec<&str> = circle.map(|at| dag.nodes[*at].id.as_str()).collect();
            let message = format!("a cycle of dependencies: `{}`", ids.join("` → `"));
            let place = format!("nodes[{next}].depends_on");
            return SylkMistake::new(place, message, "remove one of these dependencies");
        }
        path.push(next);
    }
}

/// Names the first difference between the layers as written and as `depends_on` orders them.
fn compare(dag: &SylkDag, layers: &[Vec<String>], derived: &[usize]) -> Result<(), SylkMistake> {
    let help = "leave `execution_order` out, or write the layers that follow from `depends_on`";
    let mut left: HashMap<&str, usize> = HashMap::new();
    left.extend(dag.nodes.iter().zip(derived).map(|(node, layer)| (node.id.as_str(), *layer)));
    let left_ids: BTreeSet<&str> = left.keys().copied().collect();
    for (layer, ids) in layers.iter().enumerate() {
        for (nth, id) in ids.iter().enumerate() {
            let message = match left.remove(id.as_str()) {
                Some(own) if own == layer => continue,
                Some(own) => format!("`{id}` is in layer {layer}; by `depends_on` it is in layer {own}"),
                None if left_ids.contains(id.as_str()) => format!("`{id}` is there twice"),
                None => format!("no node has the id `{id}`"),
            };
            return Err(SylkMistake::new(format!("execution_order[{layer}][{nth}]"), message, help));
        }
    }
    let missing = dag.nodes.iter().find(|node| left.contains_key(node.id.as_str()));
    if let Some(node) = missing {
        let own = left[node.id.as_str()];
        let message = format!("`{}` is missing; by `depends_on` it is in layer {own}", node.id);
        return Err(SylkMistake::new("execution_order", message, help));
    }
    match layers.iter().position(Vec::is_empty) {
        Some(layer) => Err(SylkMistake::new(format!("execution_order[{layer}]"), "the layer is empty", help)),
        None => Ok(()),
    }
}
